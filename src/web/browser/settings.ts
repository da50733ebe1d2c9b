import './copy.ts';

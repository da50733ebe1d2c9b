/** Its argument is not copied to the thread if it is in a SharedArrayBuffer. */
export { inspect as default } from '../src/feeds/picture-bytes.ts';

import { testManyNotes } from './contract-many.ts';
import { filesBackend } from './files-support.ts';

testManyNotes(filesBackend);

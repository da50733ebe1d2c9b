import t from 'tap';
import { testManyNotes } from './contract-many.ts';
import { sqliteBackend } from './sqlite-support.ts';

t.setTimeout(600_000);

testManyNotes(sqliteBackend);

import t from 'tap';
import { testManyNotes } from './contract-many.ts';
import { sqliteBackend } from './sqlite-support.ts';

t.setTimeout(280_000);

testManyNotes(sqliteBackend);

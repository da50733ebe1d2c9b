import t from 'tap';
import { testEdits } from './contract-edits.ts';
import { sqliteBackend } from './sqlite-support.ts';

t.setTimeout(280_000);

testEdits(sqliteBackend);

import t from 'tap';
import { testEdits } from './contract-edits.ts';
import { sqliteBackend } from './sqlite-support.ts';

t.setTimeout(600_000);

testEdits(sqliteBackend);

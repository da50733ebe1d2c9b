import t from 'tap';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import { databaseIn } from '../support/open-backend.ts';
import { type Backend, testContract } from './contract.ts';
import { testEdits } from './contract-edits.ts';
import { testFeeds } from './contract-feeds.ts';
import { testManyNotes } from './contract-many.ts';
import { dataFolder, keptLog } from './files-support.ts';

const backend: Backend = {
  name: 'sqlite',
  create: async (t, caps) => {
    const dir = await dataFolder(t);
    return { open: () => openSqlite({ file: databaseIn(dir), caps, log: keptLog() }) };
  },
};

t.setTimeout(300_000);

testContract(backend);
testFeeds(backend);
testEdits(backend);
testManyNotes(backend);

import { openFiles } from '../../src/storage/files/files.ts';
import { type Backend, testContract } from './contract.ts';
import { testEdits } from './contract-edits.ts';
import { dataFolder, keptLog, SECRET } from './files-support.ts';

const backend: Backend = {
  name: 'files',
  create: async (t, caps) => {
    const dir = await dataFolder(t);
    return { open: () => openFiles({ dir, secret: SECRET, caps, log: keptLog() }) };
  },
};

testContract(backend);
testEdits(backend);

import { testContract } from './contract.ts';
import { testEdits } from './contract-edits.ts';
import { filesBackend } from './files-support.ts';

testContract(filesBackend);
testEdits(filesBackend);

import { testContract } from './contract.ts';
import { testEdits } from './contract-edits.ts';
import { testFeeds } from './contract-feeds.ts';
import { filesBackend } from './files-support.ts';

testContract(filesBackend);
testFeeds(filesBackend);
testEdits(filesBackend);

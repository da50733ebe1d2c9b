import t from 'tap';
import { testContract } from './contract.ts';
import { testEdits } from './contract-edits.ts';
import { testExpiry } from './contract-expiry.ts';
import { testFeeds } from './contract-feeds.ts';
import { testKeys } from './contract-keys.ts';
import { testLicenses } from './contract-licenses.ts';
import { testLimits } from './contract-limits.ts';
import { testTokens } from './contract-tokens.ts';
import { filesBackend } from './files-support.ts';

t.setTimeout(120_000);

testContract(filesBackend);
testFeeds(filesBackend);
testLicenses(filesBackend);
testLimits(filesBackend);
testTokens(filesBackend);
testEdits(filesBackend);
testExpiry(filesBackend);
testKeys(filesBackend);

import t from 'tap';
import { testContract } from './contract.ts';
import { testArrivals } from './contract-arrivals.ts';
import { testBytes } from './contract-bytes.ts';
import { testEdits } from './contract-edits.ts';
import { testExpiry } from './contract-expiry.ts';
import { testFeeds } from './contract-feeds.ts';
import { testKeys } from './contract-keys.ts';
import { testLicenses } from './contract-licenses.ts';
import { testLimits } from './contract-limits.ts';
import { testOperator } from './contract-operator.ts';
import { testTags } from './contract-tags.ts';
import { testTokens } from './contract-tokens.ts';
import { filesBackend } from './files-support.ts';

t.setTimeout(600_000);

testContract(filesBackend);
testFeeds(filesBackend);
testBytes(filesBackend);
testArrivals(filesBackend);
testOperator(filesBackend);
testLicenses(filesBackend);
testLimits(filesBackend);
testTags(filesBackend);
testTokens(filesBackend);
testEdits(filesBackend);
testExpiry(filesBackend);
testKeys(filesBackend);

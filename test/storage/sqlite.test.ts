import t from 'tap';
import { testContract } from './contract.ts';
import { testArrivals } from './contract-arrivals.ts';
import { testBytes } from './contract-bytes.ts';
import { testExpiry } from './contract-expiry.ts';
import { testFeeds } from './contract-feeds.ts';
import { testKeys } from './contract-keys.ts';
import { testLicenses } from './contract-licenses.ts';
import { testLimits } from './contract-limits.ts';
import { testOperator } from './contract-operator.ts';
import { testTags } from './contract-tags.ts';
import { testTokens } from './contract-tokens.ts';
import { sqliteBackend } from './sqlite-support.ts';

t.setTimeout(600_000);

testContract(sqliteBackend);
testFeeds(sqliteBackend);
testBytes(sqliteBackend);
testArrivals(sqliteBackend);
testOperator(sqliteBackend);
testExpiry(sqliteBackend);
testKeys(sqliteBackend);
testLicenses(sqliteBackend);
testLimits(sqliteBackend);
testTags(sqliteBackend);
testTokens(sqliteBackend);

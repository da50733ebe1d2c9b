import t from 'tap';
import { testContract } from './contract.ts';
import { testFeeds } from './contract-feeds.ts';
import { testLicenses } from './contract-licenses.ts';
import { testLimits } from './contract-limits.ts';
import { testTokens } from './contract-tokens.ts';
import { sqliteBackend } from './sqlite-support.ts';

t.setTimeout(280_000);

testContract(sqliteBackend);
testFeeds(sqliteBackend);
testLicenses(sqliteBackend);
testLimits(sqliteBackend);
testTokens(sqliteBackend);

import t from 'tap';
import { testContract } from './contract.ts';
import { testFeeds } from './contract-feeds.ts';
import { testLimits } from './contract-limits.ts';
import { testTokens } from './contract-tokens.ts';
import { sqliteBackend } from './sqlite-support.ts';

t.setTimeout(280_000);

testContract(sqliteBackend);
testFeeds(sqliteBackend);
testLimits(sqliteBackend);
testTokens(sqliteBackend);

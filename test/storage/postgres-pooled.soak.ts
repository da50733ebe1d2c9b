/** The contract of every storage behind a real PgBouncer in transaction mode. */
import t from 'tap';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import { missing } from '../support/installed.ts';
import { startPgBouncer } from '../support/pgbouncer.ts';
import { PostgresServer } from '../support/postgres.ts';
import { type Backend, testContract } from './contract.ts';
import { testArrivals } from './contract-arrivals.ts';
import { testBytes } from './contract-bytes.ts';
import { testEdits } from './contract-edits.ts';
import { testExpiry } from './contract-expiry.ts';
import { testFeeds } from './contract-feeds.ts';
import { testKeys } from './contract-keys.ts';
import { testLimits } from './contract-limits.ts';
import { testOperator } from './contract-operator.ts';
import { testSearch } from './contract-search.ts';
import { testTags } from './contract-tags.ts';
import { testTokens } from './contract-tokens.ts';
import { keptLog } from './files-support.ts';

t.setTimeout(600_000);

const skip = missing('pgbouncer');
if (skip) t.pass(skip);
else {
  // The pooler keeps connections to each database of the tests.
  const server = await PostgresServer.start(t, ['max_connections=1000']);
  const through = await startPgBouncer(t, server);
  const backend: Backend = {
    name: 'postgres behind a pooler',
    create: async (_, maxFeeds, maxBytes = 0) => {
      const url = through(await server.database());
      const options = { url, keepDays: 0, isListening: false, search: true, log: keptLog() };
      return { open: () => openPostgres({ ...options, maxFeeds, maxBytes }) };
    },
  };
  testContract(backend);
  testFeeds(backend);
  testBytes(backend);
  testArrivals(backend);
  testOperator(backend);
  testExpiry(backend);
  testKeys(backend);
  testLimits(backend);
  testTags(backend);
  testTokens(backend);
  testEdits(backend);
  testSearch(backend);
}

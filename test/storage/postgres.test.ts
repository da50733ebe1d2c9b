import t from 'tap';
import { licenseCheck } from '../../src/licenses/licenses.ts';
import { openPostgres } from '../../src/storage/postgres/postgres.ts';
import { PUBLIC_KEY } from '../support/licenses.ts';
import { PostgresServer } from '../support/postgres.ts';
import { type Backend, testContract } from './contract.ts';
import { testArrivals } from './contract-arrivals.ts';
import { testBytes } from './contract-bytes.ts';
import { testEdits } from './contract-edits.ts';
import { testExpiry } from './contract-expiry.ts';
import { testFeeds } from './contract-feeds.ts';
import { testKeys } from './contract-keys.ts';
import { testLicenses } from './contract-licenses.ts';
import { testLimits } from './contract-limits.ts';
import { testManyNotes } from './contract-many.ts';
import { testOperator } from './contract-operator.ts';
import { testSearch } from './contract-search.ts';
import { testTags } from './contract-tags.ts';
import { testTokens } from './contract-tokens.ts';
import { keptLog } from './files-support.ts';

t.setTimeout(900_000);

const isLicenseValid = licenseCheck([PUBLIC_KEY]);
const server = await PostgresServer.start(t);

const backend: Backend = {
  name: 'postgres',
  create: async (_, maxFeeds, maxBytes) => {
    const url = await server.database();
    return {
      open: () => openPostgres({ url, maxFeeds, maxBytes, keepDays: 0, isLicenseValid, log: keptLog() }),
    };
  },
};

testContract(backend);
testFeeds(backend);
testBytes(backend);
testArrivals(backend);
testOperator(backend);
testExpiry(backend);
testKeys(backend);
testLicenses(backend);
testLimits(backend);
testTags(backend);
testTokens(backend);
testEdits(backend);
testManyNotes(backend);
testSearch({
  name: 'postgres',
  create: async (_, maxFeeds) => {
    const url = await server.database();
    return {
      open: () =>
        openPostgres({
          url,
          maxFeeds,
          maxBytes: 0,
          keepDays: 0,
          search: true,
          isLicenseValid,
          log: keptLog(),
        }),
    };
  },
});

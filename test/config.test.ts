import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import t from 'tap';
import { readConfig } from '../src/config.ts';
import { largestRequestBytes } from '../src/feeds/limits.ts';
import { leastBodyMemory } from '../src/http/body-memory.ts';
import { problems } from './support/config-problems.ts';

t.test('without any variable everything has its default', async (t) => {
  const config = readConfig({});
  t.match(config, {
    host: '0.0.0.0',
    port: 3000,
    publicUrl: undefined,
    dataDir: resolve('data'),
    puid: undefined,
    pgid: undefined,
    title: 'Note Feed',
    trustProxy: false,
    storage: 'fs',
    database: undefined,
    secret: undefined,
    allowCustomIds: true,
    imageUploads: true,
    maxImageBytes: 5_242_880,
    cacheBytes: 67_108_864,
    bodyMemoryBytes: 268_435_456,
    logLevel: 'info',
    processes: 1,
    logRequests: true,
    timeZone: 'UTC',
    password: undefined,
    images: 'db',
    operatorToken: undefined,
    rateLimit: 60,
    maxConnectionsPerClient: undefined,
    maxFeeds: 0,
    maxBytes: 0,
    keepDays: 0,
    maxNotesPerFeed: 0,
    maxImagesPerFeed: 0,
    reservedPassword: undefined,
    shrinkImageBytes: 1_048_576,
    parseTimeoutMs: 10_000,
    metrics: false,
    metricsToken: undefined,
    imprintFile: undefined,
    privacyFile: undefined,
    termsFile: undefined,
    noticeFile: undefined,
    reportUrl: undefined,
  });
  t.equal(config.reservedFeeds.size, 0);
  t.ok(config.workers >= 1);
  t.ok(Object.isFrozen(config));
});

t.test('an empty value counts as unset', async (t) => {
  t.equal(readConfig({ PORT: '', PORT_FILE: '' }).port, 3000);
});

t.test('good values', async (t) => {
  const imprint = join(t.testdir({ 'imprint.md': '# Us' }), 'imprint.md');
  const config = readConfig({
    HOST: '::1',
    PORT: '0',
    PUBLIC_URL: 'https://notes.example/base//',
    DATA_DIR: '/srv/notes',
    PUID: '0',
    PGID: '4294967294',
    SERVICE_TITLE: 'Große Notizen 🗒',
    SERVICE_TRUST_PROXY: '1',
    SERVICE_STORAGE: 'fs',
    SERVICE_SECRET: 'é'.repeat(16),
    SERVICE_RESERVED_FEEDS: ' news, ,a_b-1,',
    SERVICE_ALLOW_CUSTOM_IDS: '0',
    SERVICE_IMAGE_UPLOADS: '0',
    SERVICE_MAX_IMAGE_BYTES: '1',
    SERVICE_CACHE_BYTES: '1048576',
    SERVICE_BODY_MEMORY_BYTES: '3145728',
    SERVICE_WORKERS: '3',
    SERVICE_LOG_LEVEL: 'error',
    SERVICE_LOG_REQUESTS: '0',
    TZ: 'Europe/Berlin',
    SERVICE_PASSWORD: 'x',
    SERVICE_IMAGES: 'db',
    SERVICE_OPERATOR_TOKEN: 'o'.repeat(32),
    SERVICE_RATE_LIMIT: '0',
    SERVICE_MAX_CONNECTIONS_PER_CLIENT: '0',
    SERVICE_MAX_FEEDS: '1',
    SERVICE_MAX_NOTES_PER_FEED: '2',
    SERVICE_MAX_IMAGES_PER_FEED: '3',
    SERVICE_RESERVED_PASSWORD: 'in two words!',
    SERVICE_SHRINK_IMAGE_BYTES: '1',
    SERVICE_PARSE_TIMEOUT_MS: '1',
    SERVICE_METRICS: '1',
    SERVICE_METRICS_TOKEN: '~'.repeat(256),
    SERVICE_IMPRINT_FILE: imprint,
    SERVICE_REPORT_URL: 'https://x.example/?r={read_id}&n={note_id}&f={file}',
  });
  t.match(config, {
    host: '::1',
    port: 0,
    publicUrl: 'https://notes.example/base',
    dataDir: '/srv/notes',
    puid: 0,
    pgid: 4_294_967_294,
    title: 'Große Notizen 🗒',
    trustProxy: true,
    allowCustomIds: false,
    imageUploads: false,
    maxImageBytes: 1,
    cacheBytes: 1_048_576,
    bodyMemoryBytes: 3_145_728,
    workers: 3,
    logLevel: 'error',
    logRequests: false,
    timeZone: 'Europe/Berlin',
    password: 'x',
    images: 'db',
    operatorToken: 'o'.repeat(32),
    rateLimit: 0,
    maxConnectionsPerClient: 0,
    maxFeeds: 1,
    maxBytes: 0,
    keepDays: 0,
    maxNotesPerFeed: 2,
    maxImagesPerFeed: 3,
    reservedPassword: 'in two words!',
    shrinkImageBytes: 1,
    parseTimeoutMs: 1,
    metrics: true,
    metricsToken: '~'.repeat(256),
    imprintFile: imprint,
    reportUrl: 'https://x.example/?r={read_id}&n={note_id}&f={file}',
  });
  t.equal(config.publicUrl, 'https://notes.example/base', 'without the slashes at its end');
  t.equal(config.secret?.length, 32);
  t.strictSame([...config.reservedFeeds], ['news', 'a_b-1']);
});

t.test('a SQLite database is a file, and needs a secret', async (t) => {
  const env = { SERVICE_STORAGE: 'sqlite', SERVICE_SECRET: 's'.repeat(32) };
  t.match(readConfig(env), { storage: 'sqlite', database: undefined });
  for (const [url, path] of [
    ['file:/srv/my notes.db', '/srv/my notes.db'],
    ['file:///srv/notes.db', '/srv/notes.db'],
    ['file:notes.db', resolve('notes.db')],
  ])
    t.strictSame(readConfig({ ...env, SERVICE_DATABASE_URL: url }).database, { kind: 'file', path });
  const lacking = ['SERVICE_SECRET must be set, at least 32 bytes long, where SERVICE_STORAGE is sqlite'];
  t.strictSame(problems({ SERVICE_STORAGE: 'sqlite' }), lacking);
  t.strictSame(problems({ ...env, SERVICE_SECRET: 'short' }), [
    'SERVICE_SECRET must be at least 32 bytes long',
  ]);
  t.strictSame(problems({ SERVICE_DATABASE_URL: 'file:/srv/notes.db' }), [
    'SERVICE_DATABASE_URL must not be set where SERVICE_STORAGE is fs, which has no database',
  ]);
});

t.test('a PostgreSQL database is on a server, and needs its address and a secret', async (t) => {
  const url = 'postgresql://me:hush@db/notes?sslmode=verify-full';
  const env = { SERVICE_STORAGE: 'postgres', SERVICE_SECRET: 's'.repeat(32), SERVICE_DATABASE_URL: url };
  t.match(readConfig(env), { storage: 'postgres', database: { kind: 'server', url } });
  t.strictSame(problems({ SERVICE_STORAGE: 'postgres' }), [
    'SERVICE_DATABASE_URL must be set where SERVICE_STORAGE is postgres',
    'SERVICE_SECRET must be set, at least 32 bytes long, where SERVICE_STORAGE is postgres',
  ]);
  t.strictSame(problems({ ...env, SERVICE_STORAGE: 'sqlite' }), [
    'SERVICE_DATABASE_URL must be a file: URL where SERVICE_STORAGE is sqlite',
  ]);
  t.strictSame(problems({ ...env, SERVICE_DATABASE_URL: 'file:notes.db' }), [
    'SERVICE_DATABASE_URL must be a postgres: URL where SERVICE_STORAGE is postgres',
  ]);
  const dir = t.testdir({ url: `${url}\n` });
  const { SERVICE_DATABASE_URL: _, ...others } = env;
  t.match(readConfig({ ...others, SERVICE_DATABASE_URL_FILE: join(dir, 'url') }), { database: { url } });
});

t.test('a report address may be one of mail', async (t) => {
  const template = 'mailto:abuse@x.example?subject={file}';
  t.equal(readConfig({ SERVICE_REPORT_URL: template }).reportUrl, template);
});

t.test('hubs need the address by which they know feeds', async (t) => {
  const env = { SERVICE_WEBSUB_HUBS: 'https://hub.example,http://[::1]:8080/x , https://hub.example/' };
  const { websubHubs } = readConfig({ ...env, PUBLIC_URL: 'https://notes.example' });
  t.strictSame(websubHubs, ['https://hub.example/', 'http://[::1]:8080/x'], 'each once');
  t.strictSame(problems(env), ['PUBLIC_URL must be set where SERVICE_WEBSUB_HUBS is']);
});

t.test('a CDN may be anywhere, and its token is of no use without it', async (t) => {
  const env = { SERVICE_PURGE_URL: 'http://10.0.0.7:6082/', SERVICE_PURGE_TOKEN: 'hush' };
  t.match(readConfig(env), { purgeUrl: 'http://10.0.0.7:6082/', purgeToken: 'hush' });
  const withSlash = { SERVICE_PURGE_URL: 'https://cdn.example/purge/' };
  t.match(readConfig(withSlash), { purgeUrl: 'https://cdn.example/purge/' }, 'it is asked for as it is');
  t.strictSame(problems({ SERVICE_PURGE_TOKEN: 'hush' }), [
    'SERVICE_PURGE_URL must be set where SERVICE_PURGE_TOKEN is set',
  ]);
});

t.test('reserved feeds that exist from the start need names that can be read ids', async (t) => {
  const names = ['ab', 'login', 'news,api'];
  for (const name of names) {
    t.strictSame(problems({ SERVICE_RESERVED_FEEDS: name }), []);
    t.match(problems({ SERVICE_RESERVED_FEEDS: name, SERVICE_RESERVED_PASSWORD: 'hush' }), [
      /^SERVICE_RESERVED_FEEDS must hold names of 3 to 64 characters/,
    ]);
  }
  t.strictSame(problems({ SERVICE_RESERVED_FEEDS: 'news,abc', SERVICE_RESERVED_PASSWORD: 'hush' }), []);
});

t.test('a number may be the greatest that its rule names', async (t) => {
  const docs = readFileSync(new URL('../docs/settings.md', import.meta.url), 'utf8');
  const greatest = [...docs.matchAll(/^\| `(\w+)`/gm)].flatMap(([, name]) => {
    const [problem = ''] = problems({ [name!]: '-1' });
    const most = /whole number.* to (\d+), not/.exec(problem)?.[1];
    return most === undefined ? [] : [[name!, most] as const];
  });
  t.ok(greatest.length > 10);
  for (const [name, most] of greatest) {
    const found = problems({ [name]: most }).filter((problem) =>
      problem.startsWith(`${name} must be a whole`),
    );
    t.strictSame(found, [], name);
  }
});

t.test('memory for bodies that cannot hold the largest request', async (t) => {
  const largest = largestRequestBytes(1_000_000);
  t.equal(largest, 102_400 + 10_000_000 + 65_536);
  const least = leastBodyMemory(largest);
  const env = { SERVICE_MAX_IMAGE_BYTES: '1000000' };
  t.strictSame(problems({ ...env, SERVICE_BODY_MEMORY_BYTES: `${least}` }), []);
  t.match(problems({ ...env, SERVICE_BODY_MEMORY_BYTES: `${least - 1}` }), [
    new RegExp(`^SERVICE_BODY_MEMORY_BYTES must be at least ${least}, .*SERVICE_MAX_IMAGE_BYTES`),
  ]);
  const small = { SERVICE_MAX_IMAGE_BYTES: '100000', SERVICE_BODY_MEMORY_BYTES: '2000000' };
  t.match(problems(small), [/^SERVICE_BODY_MEMORY_BYTES must be at least \d+, .*an import/]);
  t.match(problems({ SERVICE_MAX_IMAGE_BYTES: '50000000' }), [/^SERVICE_BODY_MEMORY_BYTES must be at least/]);
});

t.test('a value from a file', async (t) => {
  const dir = t.testdir({
    port: '8080\n',
    secret: `${'s'.repeat(31)}\n\n`,
    short: 'hush\n',
    crlf: '8081\r\n',
    wrong: 'x',
  });
  t.equal(readConfig({ PORT_FILE: join(dir, 'port') }).port, 8080);
  t.equal(readConfig({ PORT_FILE: join(dir, 'crlf') }).port, 8081);
  t.equal(
    readConfig({ SERVICE_SECRET_FILE: join(dir, 'secret') }).secret?.length,
    32,
    'one newline is dropped',
  );
  t.strictSame(problems({ PORT_FILE: join(dir, 'wrong') }), [
    'PORT (from PORT_FILE) must be a whole number from 0 to 65535, not "x"',
  ]);
  t.strictSame(problems({ SERVICE_SECRET_FILE: join(dir, 'short') }), [
    'SERVICE_SECRET (from SERVICE_SECRET_FILE) must be at least 32 bytes long',
  ]);
  t.strictSame(problems({ PORT_FILE: join(dir, 'none') }), ['PORT_FILE must name a readable file (ENOENT)']);
  t.strictSame(problems({ PORT_FILE: dir }), ['PORT_FILE must name a readable file (EISDIR)']);
  t.strictSame(problems({ PORT: '1', PORT_FILE: join(dir, 'port') }), [
    'PORT and PORT_FILE must not both be set',
  ]);
});

t.test('a SERVICE_ variable that is no setting is named beside the nearest one', async (t) => {
  for (const [name, nearest] of [
    ['SERVICE_PASWORD', 'SERVICE_PASSWORD'],
    ['SERVICE_PASWORD_FILE', 'SERVICE_PASSWORD_FILE'],
    ['SERVICE_password', 'SERVICE_PASSWORD'],
    ['SERVICE_MAX_FEED', 'SERVICE_MAX_FEEDS'],
    ['SERVICE_DATA_DIR', 'DATA_DIR'],
    ['SERVICE_PORT', 'PORT'],
    ['SERVICE_S3_BUCKT', 'SERVICE_S3_BUCKET'],
  ] as const)
    t.strictSame(problems({ [name]: 'hush' }), [
      `${name} is no setting of this service; the nearest one is ${nearest}`,
    ]);
  t.match(problems({ SERVICE_PASWORD: 'hush', PORT: 'x', SERVICE_TITEL: 'x' }).toSorted(), [
    /^PORT must be/,
    /^SERVICE_PASWORD is no setting/,
    /^SERVICE_TITEL is no setting/,
  ]);
  t.strictSame(problems({ SERVICE_PASWORD: '', SERVICES: 'x', MY_SERVICE_PASWORD: 'x' }), []);
});

t.test('a variable of the reference is named with its setting', async (t) => {
  const found = problems({
    NOTEFEED_PASSWORD: 'hush',
    NOTEFEED_SECRET_FILE: '/run/hush',
    NOTEFEED_STORAGE: 'hush',
    SERVICE_STORAGE: 'fs',
    NOTEFEED_TITLE: '',
    NOTEFEED_SERVICE_HOST: '10.0.0.1',
    NOTEFEED_PORT: 'tcp://10.0.0.1:80',
    NOTEFEED_CHANNEL: 'x',
  });
  t.strictSame(found.toSorted(), [
    'NOTEFEED_PASSWORD is no setting of this service: set SERVICE_PASSWORD in its place',
    'NOTEFEED_SECRET_FILE is no setting of this service: set SERVICE_SECRET_FILE in its place',
    'NOTEFEED_STORAGE is no setting of this service: set SERVICE_STORAGE in its place',
  ]);
});

t.test(
  'what Kubernetes says of a Service called "service" or "service-b" is no misspelled setting',
  async (t) => {
    const injected = {
      SERVICE_HOST: '10.0.0.1',
      SERVICE_PORT: '80',
      SERVICE_PORT_HTTP: '80',
      PORT: 'tcp://10.0.0.1:80',
      PORT_80_TCP: 'tcp://10.0.0.1:80',
      PORT_80_TCP_PROTO: 'tcp',
      PORT_80_TCP_PORT: '80',
      PORT_80_TCP_ADDR: '10.0.0.1',
    };
    for (const service of ['SERVICE', 'SERVICE_B'])
      for (const [name, value] of Object.entries(injected))
        t.strictSame(problems({ [`${service}_${name}`]: value }), [], name);
  },
);

t.test('secrets that are equal to one another', async (t) => {
  const env = {
    SERVICE_PASSWORD: 'p'.repeat(32),
    SERVICE_OPERATOR_TOKEN: 'o'.repeat(32),
    SERVICE_METRICS_TOKEN: 'm'.repeat(32),
    SERVICE_PURGE_TOKEN: 'c'.repeat(32),
    SERVICE_PURGE_URL: 'https://cdn.example',
    SERVICE_SECRET: 's'.repeat(32),
  };
  t.strictSame(problems(env), []);
  const names = Object.keys(env).filter((name) => name !== 'SERVICE_PURGE_URL');
  for (const one of names)
    for (const other of names.filter((name) => name !== one)) {
      const equal = { ...env, [one]: 'x'.repeat(32), [other]: 'x'.repeat(32) };
      const [problem = '', ...more] = problems(equal);
      t.match(problem, /^\w+ and \w+ must not be equal$/);
      t.ok(problem.includes(one) && problem.includes(other), problem);
      t.strictSame(more, []);
    }
  const file = join(t.testdir({ token: `${'p'.repeat(32)}\n` }), 'token');
  const { SERVICE_METRICS_TOKEN: _, ...others } = env;
  t.strictSame(problems({ ...others, SERVICE_METRICS_TOKEN_FILE: file }), [
    'SERVICE_PASSWORD and SERVICE_METRICS_TOKEN must not be equal',
  ]);
});

t.test('several processes need PostgreSQL, and "auto" is one for each core', async (t) => {
  const postgres = {
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: 'postgres://db.example/notes',
    SERVICE_SECRET: 'x'.repeat(32),
  };
  const count = (SERVICE_PROCESSES: string) => readConfig({ ...postgres, SERVICE_PROCESSES }).processes;
  t.equal(count('1'), 1);
  t.equal(count('64'), 64);
  t.equal(count('auto'), Math.min(availableParallelism(), 64));
  const why = (storage: string) =>
    `SERVICE_PROCESSES must be 1 where SERVICE_STORAGE is ${storage}, which only one process may use`;
  t.strictSame(problems({ SERVICE_PROCESSES: '2' }), [why('fs')]);
  t.strictSame(
    problems({ SERVICE_PROCESSES: '2', SERVICE_STORAGE: 'sqlite', SERVICE_SECRET: 'x'.repeat(32) }),
    [why('sqlite')],
  );
  t.strictSame(problems({ SERVICE_PROCESSES: '1' }), []);
});

import { join, resolve } from 'node:path';
import t from 'tap';
import { ConfigError, largestRequestBytes, readConfig } from '../src/config.ts';
import { leastBodyMemory } from '../src/http/body-memory.ts';

/** The problems of an environment, one for each wrong variable. */
function problems(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

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
    logRequests: true,
    timeZone: 'UTC',
    password: undefined,
    images: 'db',
    operatorToken: undefined,
    rateLimit: 60,
    maxFeeds: 0,
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
    SERVICE_BODY_MEMORY_BYTES: '1048576',
    SERVICE_WORKERS: '3',
    SERVICE_LOG_LEVEL: 'error',
    SERVICE_LOG_REQUESTS: '0',
    TZ: 'Europe/Berlin',
    SERVICE_PASSWORD: 'x',
    SERVICE_IMAGES: 'db',
    SERVICE_OPERATOR_TOKEN: 'o'.repeat(32),
    SERVICE_RATE_LIMIT: '0',
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
    bodyMemoryBytes: 1_048_576,
    workers: 3,
    logLevel: 'error',
    logRequests: false,
    timeZone: 'Europe/Berlin',
    password: 'x',
    images: 'db',
    operatorToken: 'o'.repeat(32),
    rateLimit: 0,
    maxFeeds: 1,
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
  t.equal(config.secret?.length, 32);
  t.strictSame([...config.reservedFeeds], ['news', 'a_b-1']);
});

const BAD_VALUES: Record<string, { values: string[]; rule: string; hidden?: boolean }> = {
  HOST: { values: ['a b', '-x', 'x/y', 'http://x'], rule: 'an address or a host name' },
  PORT: {
    values: ['x', '-1', '65536', '80.5', '0x50', '1e3', ' 80', '９'],
    rule: 'a whole number from 0 to 65535',
  },
  PUBLIC_URL: {
    values: ['notes.example', '/x', 'ftp://x', 'http://x?y', 'http://x#y', 'http://x?', 'http://user:pass@x'],
    rule: 'an absolute http or https URL without user, query and fragment',
    hidden: true,
  },
  DATA_DIR: { values: ['a\0b', '/', '/x/..'], rule: 'the path of a folder other than /' },
  PUID: { values: ['root', '-1', '4294967295'], rule: 'a whole number from 0 to 4294967294' },
  PGID: { values: ['root', '-1', '4294967295'], rule: 'a whole number from 0 to 4294967294' },
  SERVICE_TITLE: {
    values: ['a\nb', 'x'.repeat(101), '  ', '\u202e'],
    rule: 'one line of at most 100 characters, without control characters',
  },
  SERVICE_TRUST_PROXY: { values: ['yes', 'true', '2'], rule: '1 (on) or 0 (off)' },
  SERVICE_STORAGE: { values: ['postgresql', 'FS', 'SQLite'], rule: 'one of fs, sqlite, postgres' },
  SERVICE_DATABASE_URL: {
    values: [
      'mysql://me:hush@db/notes',
      'postgres://',
      'postgres://me:hush@db:port/notes',
      '/srv/notes.db',
      'file:',
      'file:/srv/',
      'file://host/notes.db',
      'file:notes.db?mode=ro',
      'file:a%20b',
    ],
    rule: 'a file: URL such as file:/srv/notes.db, without ?, # and %, or a URL such as postgres://user:password@host/database',
    hidden: true,
  },
  SERVICE_SECRET: { values: ['x'.repeat(31)], rule: 'at least 32 bytes long', hidden: true },
  SERVICE_RESERVED_FEEDS: {
    values: ['News', 'a,b c', 'x'.repeat(65)],
    rule: 'feed names (1 to 64 characters of a-z, 0-9, - and _) separated by commas',
    hidden: true,
  },
  SERVICE_ALLOW_CUSTOM_IDS: { values: ['no'], rule: '1 (on) or 0 (off)' },
  SERVICE_IMAGE_UPLOADS: { values: ['off'], rule: '1 (on) or 0 (off)' },
  SERVICE_MAX_IMAGE_BYTES: {
    values: ['0', '5MB', '1073741825'],
    rule: 'a whole number of bytes from 1 to 1073741824',
  },
  SERVICE_CACHE_BYTES: {
    values: ['0', '64M', '1048575'],
    rule: 'a whole number of bytes from 1048576 to 1099511627776',
  },
  SERVICE_BODY_MEMORY_BYTES: {
    values: ['0', '1G', '-5'],
    rule: 'a whole number of bytes from 1048576 to 1099511627776',
  },
  SERVICE_WORKERS: { values: ['0', '257', 'all'], rule: 'a whole number from 1 to 256' },
  SERVICE_LOG_LEVEL: { values: ['INFO', 'verbose'], rule: 'one of debug, info, warn, error' },
  SERVICE_LOG_REQUESTS: { values: ['false'], rule: '1 (on) or 0 (off)' },
  TZ: { values: ['Nowhere/Town', ':/etc/localtime'], rule: 'the name of a time zone, such as Europe/Berlin' },
  SERVICE_PASSWORD: passwordRow(1, 256),
  SERVICE_IMAGES: {
    values: ['fs', 's3', 'DB'],
    rule: 'db, for pictures have no store of their own so far',
  },
  SERVICE_OPERATOR_TOKEN: passwordRow(32, 1024),
  SERVICE_RATE_LIMIT: { values: ['-1', 'off', '1000001'], rule: 'a whole number from 0 to 1000000' },
  SERVICE_MAX_FEEDS: { values: ['-1', 'none'], rule: 'a whole number from 0 to 1000000000' },
  SERVICE_MAX_NOTES_PER_FEED: { values: ['-1', '1k'], rule: 'a whole number from 0 to 1000000000' },
  SERVICE_MAX_IMAGES_PER_FEED: { values: ['-1', '0.5'], rule: 'a whole number from 0 to 1000000000' },
  SERVICE_RESERVED_PASSWORD: passwordRow(1, 256),
  SERVICE_SHRINK_IMAGE_BYTES: {
    values: ['0', '1MB'],
    rule: 'a whole number of bytes from 1 to 1073741824',
  },
  SERVICE_PARSE_TIMEOUT_MS: {
    values: ['0', '10s', '600001'],
    rule: 'a whole number of milliseconds from 1 to 600000',
  },
  SERVICE_METRICS: { values: ['on', '/metrics'], rule: '1 (on) or 0 (off)' },
  SERVICE_METRICS_TOKEN: passwordRow(1, 256),
  SERVICE_IMPRINT_FILE: { values: ['/no/such/file', '/', 'a\0b'], rule: 'the path of a readable file' },
  SERVICE_PRIVACY_FILE: { values: ['/no/such/file'], rule: 'the path of a readable file' },
  SERVICE_TERMS_FILE: { values: ['/no/such/file'], rule: 'the path of a readable file' },
  SERVICE_NOTICE_FILE: { values: ['/no/such/file'], rule: 'the path of a readable file' },
  SERVICE_REPORT_URL: {
    values: [
      'x',
      '/report',
      'ftp://x.example',
      'https://x.example/{name}',
      'https://x.example/{',
      'http://',
      'https://x.example/a b',
    ],
    rule: 'an absolute http, https or mailto URL, in which only {read_id}, {note_id}, {file} may stand in braces',
    hidden: true,
  },
};

/** A password that is never shown, however it is wrong. */
function passwordRow(min: number, max: number) {
  const long = 'x'.repeat(min);
  return {
    values: [
      ` ${long}`,
      `${long} `,
      `${long}ü`,
      `${long}\n`,
      'x'.repeat(max + 1),
      ...(min > 1 ? [long.slice(1)] : []),
    ],
    rule: `${min} to ${max} printable ASCII characters, with no space at either end`,
    hidden: true,
  };
}

/** What has no place in this version. */
const NOT_YET: Record<string, string> = {
  SERVICE_IMAGES_DIR: 'image store',
  SERVICE_S3_ENDPOINT: 'image store',
  SERVICE_S3_BUCKET: 'image store',
  SERVICE_S3_REGION: 'image store',
  SERVICE_S3_ACCESS_KEY: 'image store',
  SERVICE_S3_SECRET_KEY: 'image store',
  SERVICE_OIDC_ISSUER: 'sign-in',
  SERVICE_OIDC_CLIENT_ID: 'sign-in',
  SERVICE_OIDC_CLIENT_SECRET: 'sign-in',
  SERVICE_OIDC_ALLOW: 'sign-in',
  SERVICE_OIDC_SENDER_CLAIM: 'sign-in',
  SERVICE_OIDC_LABEL: 'sign-in',
  SERVICE_LICENSE_PUBLIC_KEY: 'licenses',
  SERVICE_LICENSE_URL: 'licenses',
};

t.test('a bad value of every setting', async (t) => {
  for (const [name, { values, rule, hidden }] of Object.entries(BAD_VALUES)) {
    for (const value of values) {
      const shown = hidden ? '' : `, not ${JSON.stringify(value.slice(0, 60))}`;
      t.strictSame(problems({ [name]: value }), [`${name} must be ${rule}${shown}`]);
    }
  }
});

t.test('every wrong variable is reported at once', async (t) => {
  const env = Object.fromEntries([
    ...Object.entries(BAD_VALUES).map(([name, { values }]) => [name, values[0] ?? '']),
    ...Object.keys(NOT_YET).map((name) => [name, 'hush']),
  ]);
  t.strictSame(
    problems(env)
      .map((problem) => problem.split(' ')[0])
      .sort(),
    Object.keys(env).sort(),
  );
});

t.test('what this version does not have refuses the start rather than being ignored', async (t) => {
  for (const [name, lacking] of Object.entries(NOT_YET)) {
    const problem = [`${name} must not be set: this version has no ${lacking} yet`];
    t.strictSame(problems({ [name]: 'hush' }), problem);
    t.strictSame(problems({ [`${name}_FILE`]: '/no/such/file' }), problem);
    t.strictSame(problems({ [name]: '' }), []);
  }
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

t.test('any variable may be given as a file, a secret one is not shown from there either', async (t) => {
  const file = join(t.testdir({ value: '\0 hush, no variable takes this value \0' }), 'value');
  for (const [name, { rule, hidden }] of Object.entries(BAD_VALUES)) {
    const [problem = ''] = problems({ [`${name}_FILE`]: file });
    const start = `${name} (from ${name}_FILE) must be ${rule}`;
    // The one variable whose only rule is a length.
    if (name === 'SERVICE_SECRET') t.equal(problem, '');
    else if (hidden) t.equal(problem, start);
    else t.ok(problem.startsWith(`${start}, not `), problem);
    t.strictSame(problems({ [name]: 'x', [`${name}_FILE`]: file }), [
      `${name} and ${name}_FILE must not both be set`,
    ]);
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
  t.match(problems({ SERVICE_MAX_IMAGE_BYTES: '50000000' }), [/^SERVICE_BODY_MEMORY_BYTES must be at least/]);
});

t.test('a value from a file', async (t) => {
  const dir = t.testdir({
    port: '8080\n',
    secret: `${'s'.repeat(31)}\n\n`,
    short: 'hush\n',
    crlf: '8081\r\n',
    empty: '\n',
    wrong: 'x',
  });
  t.equal(readConfig({ PORT_FILE: join(dir, 'port') }).port, 8080);
  t.equal(readConfig({ PORT_FILE: join(dir, 'crlf') }).port, 8081);
  t.equal(readConfig({ PORT_FILE: join(dir, 'empty') }).port, 3000);
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

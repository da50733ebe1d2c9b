/** Every setting with every kind of value that it must not have. */
import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import { readConfig, readImages } from '../src/config.ts';
import { problems } from './support/config-problems.ts';

const BAD_VALUES: Record<string, { values: string[]; rule: string; hidden?: boolean }> = {
  HOST: { values: ['a b', '-x', 'x/y', 'http://x', 'x'.repeat(254)], rule: 'an address or a host name' },
  PORT: {
    values: ['x', '-1', '65536', '80.5', '0x50', '1e3', ' 80', '９'],
    rule: 'a whole number from 0 to 65535',
  },
  PUBLIC_URL: {
    values: [
      'notes.example',
      '/x',
      'ftp://x',
      'http://x?y',
      'http://x#y',
      'http://x?',
      'http://user:pass@x',
      'http://x/a;b',
    ],
    rule: 'an absolute http or https URL without user, query, fragment and semicolon',
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
      'postgres://me:hush@a:5432,b:port/notes',
      'postgres://me:hush@a:5432,b:65536/notes',
      'postgres://me:hush@a:5432:5433,b/notes',
      'postgres://me:hush@a,,b/notes',
      'postgres://me:hush@a,/notes',
      'postgres://me:hush@a,:5433/notes',
      'postgres://me:hush@[::1,::2]/notes',
      'postgres://me:hush@a,b/notes?host=c',
      'postgres://me:hush@/notes?host=a,b',
      'postgres://me:hush@a,b/notes?port=5432,5433',
      '/srv/notes.db',
      'file:',
      'file:/srv/',
      'file://host/notes.db',
      'file:notes.db?mode=ro',
      'file:a%20b',
    ],
    rule: 'a file: URL such as file:/srv/notes.db, without ?, # and %, or a URL such as postgres://user:password@host/database, with commas between several hosts',
    hidden: true,
  },
  SERVICE_DATABASE_LISTEN: { values: ['off', '2'], rule: '1 (on) or 0 (off)' },
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
  SERVICE_PROCESSES: {
    values: ['0', '65', '-1', '1.5', 'Auto', 'cores'],
    rule: 'auto or a whole number from 1 to 64',
  },
  SERVICE_LOG_LEVEL: { values: ['INFO', 'verbose'], rule: 'one of debug, info, warn, error, silent' },
  SERVICE_LOG_REQUESTS: { values: ['false'], rule: '1 (on) or 0 (off)' },
  TZ: { values: ['Nowhere/Town', ':/etc/localtime'], rule: 'the name of a time zone, such as Europe/Berlin' },
  SERVICE_PASSWORD: passwordRow(1, 256),
  SERVICE_DERIVED_READ_IDS: { values: ['Own', 'theirs'], rule: 'one of own, reference' },
  SERVICE_IMAGES: { values: ['files', 'S3', 'DB'], rule: 'one of db, fs, s3' },
  SERVICE_IMAGES_DIR: { values: ['a\0b', '/', '/x/..'], rule: 'the path of a folder other than /' },
  SERVICE_S3_ENDPOINT: {
    values: ['s3.example', 'ftp://s3.example', 'https://key:secret@s3.example', 'https://s3.example?x'],
    rule: 'an absolute http or https URL without user, query, fragment and semicolon',
    hidden: true,
  },
  SERVICE_S3_BUCKET: {
    values: ['ab', 'Notes', 'a/b', '-notes', 'x'.repeat(64)],
    rule: 'the name of a bucket, 3 to 63 characters of a-z, 0-9, "." and "-"',
    hidden: true,
  },
  SERVICE_IMAGES_KEEP_HOURS: { values: ['-1', '1d', '8761'], rule: 'a whole number from 0 to 8760' },
  SERVICE_S3_REGION: {
    values: ['eu west', 'x'.repeat(65)],
    rule: 'the name of a region, of a-z, A-Z, 0-9, "-" and "_"',
  },
  SERVICE_S3_ACCESS_KEY: passwordRow(1, 256),
  SERVICE_S3_SECRET_KEY: passwordRow(1, 1024),
  SERVICE_OPERATOR_TOKEN: passwordRow(32, 1024),
  SERVICE_RATE_LIMIT: { values: ['-1', 'off', '1000001'], rule: 'a whole number from 0 to 1000000' },
  SERVICE_MAX_CONNECTIONS_PER_CLIENT: {
    values: ['-1', 'few', '1000001'],
    rule: 'a whole number from 0 to 1000000',
  },
  SERVICE_MAX_FEEDS: { values: ['-1', 'none'], rule: 'a whole number from 0 to 1000000000' },
  SERVICE_MAX_NOTES_PER_FEED: { values: ['-1', '1k'], rule: 'a whole number from 0 to 1000000000' },
  SERVICE_MAX_IMAGES_PER_FEED: { values: ['-1', '0.5'], rule: 'a whole number from 0 to 1000000000' },
  SERVICE_MAX_BYTES_PER_FEED: {
    values: ['-1', '1G', '1125899906842625'],
    rule: 'a whole number of bytes from 0 to 1125899906842624',
  },
  SERVICE_MAX_BYTES: {
    values: ['-1', '1G', '1125899906842625'],
    rule: 'a whole number of bytes from 0 to 1125899906842624',
  },
  SERVICE_SEARCH: { values: ['off', '2'], rule: '1 (on) or 0 (off)' },
  SERVICE_KEEP_DAYS: { values: ['-1', '3651', '1y'], rule: 'a whole number from 0 to 3650' },
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
    rule: 'builtin or an absolute http, https or mailto URL, in which only {read_id}, {note_id}, {file} may stand in braces',
    hidden: true,
  },
  SERVICE_WEBSUB_HUBS: {
    values: [
      'hub.example',
      'http://hub.example',
      'http://10.0.0.1/hub',
      'https://me:hush@hub.example',
      'https://hub.example, https://hub.example?x',
      ',',
      [1, 2, 3, 4, 5, 6].map((port) => `https://hub.example:${port}`).join(),
    ],
    rule: '1 to 5 https URLs without user, query and fragment, separated by commas; http is for localhost and loopback addresses only',
    hidden: true,
  },
  SERVICE_PURGE_URL: {
    values: [
      '127.0.0.1:6082',
      'ftp://cdn.example',
      'http://me:hush@cdn.example',
      'https://cdn.example/?zone=1',
    ],
    rule: 'an absolute http or https URL without user, query and fragment',
    hidden: true,
  },
  SERVICE_PURGE_TOKEN: passwordRow(1, 1024),
  SERVICE_OIDC_ISSUER: {
    values: [
      'accounts.example',
      'http://accounts.example',
      'http://127.0.0.1.example',
      'http://10.0.0.1',
      'https://me:hush@accounts.example',
      'https://accounts.example/?x',
      'https://accounts.example/#x',
    ],
    rule: 'an https URL without user, query and fragment; http is for localhost and loopback addresses only',
    hidden: true,
  },
  SERVICE_OIDC_CLIENT_ID: passwordRow(1, 256),
  SERVICE_OIDC_CLIENT_SECRET: passwordRow(1, 1024),
  SERVICE_OIDC_ALLOW: {
    values: ['anna', 'anna@', '*@notes.example', 'anna@notes.example;', 'a@b c@d', ',', '**'],
    rule: 'e-mail addresses, @domain or *, separated by commas',
    hidden: true,
  },
  SERVICE_OIDC_SENDER_CLAIM: {
    values: ['full name', ',', 'é', 'x'.repeat(101)],
    rule: 'names of claims separated by commas, such as name,email',
  },
  SERVICE_OIDC_LABEL: {
    values: ['a\nb', 'x'.repeat(101), '  '],
    rule: 'one line of at most 100 characters, without control characters',
  },
  SERVICE_LICENSE_PUBLIC_KEY: {
    values: [
      'x',
      ',',
      'A'.repeat(42),
      'A'.repeat(44),
      `${'A'.repeat(43)},`,
      `${'A'.repeat(43)},x`,
      '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----',
      generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'pem' }) as string,
      generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    ],
    rule: 'Ed25519 public keys, each as PEM or as the base64 of its 32 bytes, separated by commas',
    hidden: true,
  },
  SERVICE_LICENSE_URL: {
    values: ['x', '/buy', 'ftp://x.example', 'https://x.example/{id}', 'javascript:alert(1)'],
    rule: 'an absolute http, https or mailto URL',
    hidden: true,
  },
};

/** Of these, one alone is wrong because of the others that it needs. */
const SIGN_IN = {
  PUBLIC_URL: 'https://notes.example',
  SERVICE_OIDC_ISSUER: 'https://accounts.example/realm/',
  SERVICE_OIDC_CLIENT_ID: 'notes',
  SERVICE_OIDC_CLIENT_SECRET: 'secret of notes',
  SERVICE_OIDC_ALLOW: 'Anna@Notes.example, @friends.example',
};

/** The problems of a variable with this value, where nothing else is missing. */
function problemsOf(name: string, value: string): readonly string[] {
  const isOfSignIn = name.replace('_FILE', '').startsWith('SERVICE_OIDC_');
  const { [name.replace('_FILE', '')]: _, ...others }: Record<string, string> = isOfSignIn ? SIGN_IN : {};
  return problems({ ...others, [name]: value });
}

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

t.test('a bad value of every setting', async (t) => {
  const { providers: _, ...values } = readConfig({});
  const ofInstance = Object.keys(BAD_VALUES).filter((name) => !name.startsWith('SERVICE_OIDC_'));
  t.equal(ofInstance.length, Object.keys(values).length, 'none is left out');
  for (const [name, { values, rule, hidden }] of Object.entries(BAD_VALUES)) {
    for (const value of values) {
      const shown = hidden || value.includes('://') ? '' : `, not ${JSON.stringify(value.slice(0, 60))}`;
      t.strictSame(problemsOf(name, value), [`${name} must be ${rule}${shown}`]);
    }
  }
});

t.test('a URL in the place of something else may hold a password', async (t) => {
  for (const name of Object.keys(BAD_VALUES))
    t.notMatch(problems({ [name]: 'postgres://me:hush@db/notes' }).join(), 'hush', name);
});

t.test('every wrong variable is reported at once', async (t) => {
  const env = Object.fromEntries([
    ...Object.entries(BAD_VALUES).map(([name, { values }]) => [name, values[0] ?? '']),
  ]);
  t.strictSame(
    problems(env)
      .map((problem) => problem.split(' ')[0])
      .sort(),
    Object.keys(env).sort(),
  );
});

t.test('any variable may be given as a file, a secret one is not shown from there either', async (t) => {
  const file = join(t.testdir({ value: '\0 hush, no variable takes this value \0' }), 'value');
  for (const [name, { rule, hidden }] of Object.entries(BAD_VALUES)) {
    const [problem = ''] = problemsOf(`${name}_FILE`, file);
    const start = `${name} (from ${name}_FILE) must be ${rule}`;
    // The one variable whose only rule is a length.
    if (name === 'SERVICE_SECRET') t.equal(problem, '');
    else if (hidden) t.equal(problem, start);
    else t.ok(problem.startsWith(`${start}, not `), problem);
    t.match(problems({ [name]: 'x', [`${name}_FILE`]: file }), [
      `${name} and ${name}_FILE must not both be set`,
    ]);
  }
});

t.test('an empty file is no value', async (t) => {
  const dir = t.testdir({ empty: '', newline: '\n' });
  for (const name of Object.keys(BAD_VALUES))
    for (const file of ['empty', 'newline'])
      t.strictSame(problemsOf(`${name}_FILE`, join(dir, file)), [`${name}_FILE names an empty file`]);
});

t.test('an image store needs a database, and S3 its place and keys', async (t) => {
  const S3 = {
    SERVICE_S3_ENDPOINT: 'https://s3.example/',
    SERVICE_S3_BUCKET: 'notes',
    SERVICE_S3_ACCESS_KEY: 'a',
    SERVICE_S3_SECRET_KEY: 's',
  };
  const sqlite = { SERVICE_STORAGE: 'sqlite', SERVICE_SECRET: 'x'.repeat(32) };
  for (const SERVICE_IMAGES of ['fs', 's3'])
    t.strictSame(problems({ ...S3, SERVICE_IMAGES }), [
      'SERVICE_IMAGES must be db where SERVICE_STORAGE is fs, for there pictures are files anyway',
    ]);
  for (const name of Object.keys(S3)) {
    const env = { ...sqlite, ...S3, SERVICE_IMAGES: 's3', [name]: '' };
    t.strictSame(problems(env), [`${name} must be set where SERVICE_IMAGES is s3`]);
    t.throws(() => readImages(env), { message: `${name} must be set where SERVICE_IMAGES is s3` });
    t.strictSame(problems({ ...env, SERVICE_IMAGES: 'fs' }), [], 'what is not chosen may lack something');
  }
  t.strictSame(problems({ ...sqlite, ...S3, SERVICE_IMAGES: 's3' }), []);
});

t.test('sign-in takes its settings together, with PUBLIC_URL', async (t) => {
  t.strictSame(problems(SIGN_IN), []);
  t.match(readConfig(SIGN_IN), {
    providers: [
      {
        name: '',
        issuer: 'https://accounts.example/realm/',
        allow: ['anna@notes.example', '@friends.example'],
        senderClaims: ['name', 'email'],
        label: 'accounts.example',
      },
    ],
  });
  t.strictSame(problems({ ...SIGN_IN, SERVICE_PASSWORD: SIGN_IN.SERVICE_OIDC_CLIENT_SECRET }), [
    'SERVICE_PASSWORD and SERVICE_OIDC_CLIENT_SECRET must not be equal',
  ]);
  const chosen = {
    SERVICE_OIDC_SENDER_CLAIM: 'nickname, https://notes.example/name,',
    SERVICE_OIDC_LABEL: 'Acme',
  };
  t.match(readConfig({ ...SIGN_IN, ...chosen }), {
    providers: [{ senderClaims: ['nickname', 'https://notes.example/name'], label: 'Acme' }],
  });
  for (const name of Object.keys(SIGN_IN)) {
    const first = name === 'SERVICE_OIDC_ISSUER' ? 'SERVICE_OIDC_CLIENT_ID' : 'SERVICE_OIDC_ISSUER';
    t.strictSame(problems({ ...SIGN_IN, [name]: '' }), [`${name} must be set where ${first} is`]);
  }
  for (const [name, value] of Object.entries(chosen))
    t.strictSame(
      problems({ [name]: value })
        .map((problem) => problem.split(' ')[0])
        .sort(),
      Object.keys(SIGN_IN).sort(),
    );
  for (const SERVICE_OIDC_ISSUER of [
    'http://localhost:8080/x',
    'http://127.0.0.9',
    'http://[::1]:1',
    'https://a.b',
  ])
    t.strictSame(problems({ ...SIGN_IN, SERVICE_OIDC_ISSUER }), []);
});

/** The settings of a provider with a name. */
function named(name: string): Record<string, string> {
  const { PUBLIC_URL, ...settings } = SIGN_IN;
  const entries = Object.entries(settings);
  return Object.fromEntries(entries.map(([key, value]) => [key.replace('OIDC', `OIDC_${name}`), value]));
}

t.test('providers with names have the same settings, beside the one without or in its place', async (t) => {
  const { PUBLIC_URL } = SIGN_IN;
  const both = { ...named('B2'), ...named('ACME') };
  const names = (env: Record<string, string>) => readConfig(env).providers.map(({ name }) => name);
  t.strictSame(names({ PUBLIC_URL, ...both }), ['acme', 'b2']);
  t.strictSame(names({ ...both, ...SIGN_IN }), ['', 'acme', 'b2']);
  t.strictSame(names({}), []);
  const file = join(t.testdir({ secret: 'of a file\n' }), 'secret');
  const { SERVICE_OIDC_ACME_CLIENT_SECRET: _, ...others } = named('ACME');
  const read = readConfig({ ...others, PUBLIC_URL, SERVICE_OIDC_ACME_CLIENT_SECRET_FILE: file });
  t.match(read.providers, [{ name: 'acme', clientId: 'notes', clientSecret: 'of a file' }]);
});

t.test('what is wrong with a provider names its variable', async (t) => {
  const acme: Record<string, string> = { PUBLIC_URL: SIGN_IN.PUBLIC_URL, ...named('ACME') };
  for (const name of Object.keys(acme)) {
    const first = name.endsWith('ISSUER') ? 'SERVICE_OIDC_ACME_CLIENT_ID' : 'SERVICE_OIDC_ACME_ISSUER';
    t.strictSame(problems({ ...acme, [name]: '' }), [`${name} must be set where ${first} is`]);
  }
  t.equal(problems({ SERVICE_OIDC_ACME_LABEL: 'Acme' }).length, 5);
  const wrong = problems({ ...acme, SERVICE_OIDC_ACME_ISSUER: 'http://acme.example/hush' });
  t.match(wrong, [/^SERVICE_OIDC_ACME_ISSUER must be an https URL/]);
  t.notMatch(wrong.join(), 'hush');
  for (const [name, nearest] of [
    ['SERVICE_OIDC_ACME_ISUER', 'SERVICE_OIDC_ACME_ISSUER'],
    ['SERVICE_OIDC_Acme_ISSUER', 'SERVICE_OIDC_ACME_ISSUER'],
    ['SERVICE_OIDC_AC_ME_ISSUER', 'SERVICE_OIDC_ACME_ISSUER'],
    [`SERVICE_OIDC_${'X'.repeat(21)}_CLIENT_SECRET`, 'SERVICE_OIDC_ACME_CLIENT_SECRET'],
  ] as const)
    t.strictSame(problems({ ...acme, [name]: 'x' }), [
      `${name} is no setting of this service; the nearest one is ${nearest}`,
    ]);
  t.strictSame(problems({ ...acme, SERVICE_PASSWORD: SIGN_IN.SERVICE_OIDC_CLIENT_SECRET }), [
    'SERVICE_PASSWORD and SERVICE_OIDC_ACME_CLIENT_SECRET must not be equal',
  ]);
});

import { availableParallelism } from 'node:os';
import { isReadId, ROUTE_NAMES } from './feeds/names.ts';
import { leastBodyMemory } from './http/body-memory.ts';
import {
  type Environment,
  integer,
  isSet,
  oneOf,
  onOff,
  readSetting,
  type Setting,
  text,
} from './setting.ts';
import {
  allowedPeople,
  baseUrl,
  bucketName,
  claimNames,
  databaseUrl,
  feedNames,
  folder,
  host,
  issuer,
  lineOfText,
  otherFolder,
  publicKeys,
  readableFile,
  secretBytes,
  secretText,
  timeZone,
  urlTemplate,
} from './setting-kinds.ts';
import { LOG_LEVELS } from './telemetry/log.ts';
import { unknownSettings } from './unknown-settings.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const MAX_UNIX_ID = 2 ** 32 - 2;
/** More of anything than one instance ever has. */
const MAX_COUNT = 1_000_000_000;
const TEN_MINUTES_MS = 600_000;

/** Largest markdown text, bytes. */
export const MAX_TEXT_BYTES = 100 * KIB;
/** The most pictures of one multipart request. */
export const MAX_FILES_PER_REQUEST = 10;
const MULTIPART_OVERHEAD_BYTES = 64 * KIB;

/** Every setting of the service, one row each: its member of `Config`, variable, default and rule. */
const SETTINGS = {
  host: host('HOST', '0.0.0.0'),
  port: integer('PORT', 3000, [0, 65_535]),
  publicUrl: baseUrl('PUBLIC_URL'),
  dataDir: folder('DATA_DIR', './data'),
  puid: integer('PUID', undefined, [0, MAX_UNIX_ID]),
  pgid: integer('PGID', undefined, [0, MAX_UNIX_ID]),
  timeZone: timeZone('TZ', 'UTC'),
  title: lineOfText('SERVICE_TITLE', 'Note Feed', 100),
  password: secretText('SERVICE_PASSWORD', [1, 256]),
  trustProxy: onOff('SERVICE_TRUST_PROXY', false),
  storage: oneOf('SERVICE_STORAGE', 'fs', ['fs', 'sqlite', 'postgres']),
  database: databaseUrl('SERVICE_DATABASE_URL'),
  images: oneOf('SERVICE_IMAGES', 'db', ['db', 'fs', 's3']),
  imagesDir: otherFolder('SERVICE_IMAGES_DIR'),
  s3Endpoint: baseUrl('SERVICE_S3_ENDPOINT'),
  s3Bucket: bucketName('SERVICE_S3_BUCKET'),
  s3Region: text(
    'SERVICE_S3_REGION',
    'us-east-1',
    'the name of a region, of a-z, A-Z, 0-9, "-" and "_"',
    (value) => /^[\w-]{1,64}$/.test(value),
  ),
  s3AccessKey: secretText('SERVICE_S3_ACCESS_KEY', [1, 256]),
  s3SecretKey: secretText('SERVICE_S3_SECRET_KEY', [1, 1024]),
  secret: secretBytes('SERVICE_SECRET', 32),
  operatorToken: secretText('SERVICE_OPERATOR_TOKEN', [32, 1024]),
  rateLimit: integer('SERVICE_RATE_LIMIT', 60, [0, 1_000_000]),
  maxFeeds: integer('SERVICE_MAX_FEEDS', 0, [0, MAX_COUNT]),
  maxNotesPerFeed: integer('SERVICE_MAX_NOTES_PER_FEED', 0, [0, MAX_COUNT]),
  maxImagesPerFeed: integer('SERVICE_MAX_IMAGES_PER_FEED', 0, [0, MAX_COUNT]),
  reservedFeeds: feedNames('SERVICE_RESERVED_FEEDS'),
  reservedPassword: secretText('SERVICE_RESERVED_PASSWORD', [1, 256]),
  allowCustomIds: onOff('SERVICE_ALLOW_CUSTOM_IDS', true),
  imageUploads: onOff('SERVICE_IMAGE_UPLOADS', true),
  maxImageBytes: integer('SERVICE_MAX_IMAGE_BYTES', 5 * MIB, [1, GIB], ' of bytes'),
  shrinkImageBytes: integer('SERVICE_SHRINK_IMAGE_BYTES', MIB, [1, GIB], ' of bytes'),
  parseTimeoutMs: integer('SERVICE_PARSE_TIMEOUT_MS', 10_000, [1, TEN_MINUTES_MS], ' of milliseconds'),
  cacheBytes: integer('SERVICE_CACHE_BYTES', 64 * MIB, [MIB, 1024 * GIB], ' of bytes'),
  bodyMemoryBytes: integer('SERVICE_BODY_MEMORY_BYTES', 256 * MIB, [MIB, 1024 * GIB], ' of bytes'),
  workers: integer('SERVICE_WORKERS', availableParallelism(), [1, 256]),
  metrics: onOff('SERVICE_METRICS', false),
  metricsToken: secretText('SERVICE_METRICS_TOKEN', [1, 256]),
  logLevel: oneOf('SERVICE_LOG_LEVEL', 'info', LOG_LEVELS),
  logRequests: onOff('SERVICE_LOG_REQUESTS', true),
  imprintFile: readableFile('SERVICE_IMPRINT_FILE'),
  privacyFile: readableFile('SERVICE_PRIVACY_FILE'),
  termsFile: readableFile('SERVICE_TERMS_FILE'),
  noticeFile: readableFile('SERVICE_NOTICE_FILE'),
  reportUrl: urlTemplate('SERVICE_REPORT_URL', ['read_id', 'note_id', 'file']),
  oidcIssuer: issuer('SERVICE_OIDC_ISSUER'),
  oidcClientId: secretText('SERVICE_OIDC_CLIENT_ID', [1, 256]),
  oidcClientSecret: secretText('SERVICE_OIDC_CLIENT_SECRET', [1, 1024]),
  oidcAllow: allowedPeople('SERVICE_OIDC_ALLOW'),
  oidcSenderClaims: claimNames('SERVICE_OIDC_SENDER_CLAIM', ['name', 'email']),
  oidcLabel: lineOfText('SERVICE_OIDC_LABEL', undefined, 100),
  licenseKeys: publicKeys('SERVICE_LICENSE_PUBLIC_KEY'),
  licenseUrl: urlTemplate('SERVICE_LICENSE_URL', []),
};

const KNOWN_NAMES = Object.values(SETTINGS).map(({ name }) => name);

/** Whoever knows one of these must not know another one by it. */
const SECRETS = ['secret', 'password', 'operatorToken', 'metricsToken', 'oidcClientSecret'] as const;

/** Sign-in takes all of these. */
const SIGN_IN_NEEDS = ['oidcIssuer', 'oidcClientId', 'oidcClientSecret', 'oidcAllow'] as const;
/** What says nothing without sign-in. */
const SIGN_IN_CHOICES = ['oidcSenderClaims', 'oidcLabel'] as const;

const IMAGE_SETTINGS = [
  'dataDir',
  'images',
  'imagesDir',
  's3Endpoint',
  's3Bucket',
  's3Region',
  's3AccessKey',
  's3SecretKey',
] as const;
const S3_NEEDS = ['s3Endpoint', 's3Bucket', 's3AccessKey', 's3SecretKey'] as const;

/** Where the databases are. */
const PLACES = { sqlite: 'file', postgres: 'server' } as const;

type Settings = typeof SETTINGS;
type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The settings of one run of the service. Sizes are in bytes. */
export type Config = { readonly [Member in keyof Settings]: ValueOf<Settings[Member]> };

/** The environment holds values that cannot be used. */
export class ConfigError extends Error {
  /** One sentence for each wrong variable, without any secret value. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Reads all settings. Throws `ConfigError` with every problem when one of them cannot be used. */
export function readConfig(env: Environment): Config {
  const { values: config, problems } = readEach(env, Object.keys(SETTINGS) as (keyof Config)[]);
  problems.push(
    ...unknownSettings(env, KNOWN_NAMES),
    ...databaseProblems(env, config),
    ...databaseSecretProblems(env, config),
    ...imageProblems(env, config),
    ...equalSecretProblems(config),
    ...bodyMemoryProblems(config),
    ...reservedFeedProblems(config),
    ...signInProblems(env),
  );
  return usable(config, problems);
}

/** Reads some settings without a look at the others. Throws `ConfigError` when one of them cannot be used. */
export function readSome<M extends keyof Config>(env: Environment, members: readonly M[]): Pick<Config, M> {
  const { values, problems } = readEach(env, members);
  return usable(values, problems);
}

/** Reads where the notes are, without a look at the other settings. Throws `ConfigError` when they contradict. */
export function readPlace(env: Environment): Pick<Config, 'storage' | 'database' | 'dataDir'> {
  const { values, problems } = readEach(env, ['storage', 'database', 'dataDir']);
  return usable(values, [...problems, ...databaseProblems(env, values)]);
}

/** The settings that say where pictures are. */
export type ImageSettings = Pick<Config, (typeof IMAGE_SETTINGS)[number]>;

/** Reads where pictures are, as `readPlace` does. */
export function readImages(env: Environment): ImageSettings {
  const { values, problems } = readEach(env, IMAGE_SETTINGS);
  return usable(values, [...problems, ...(values.images === 's3' ? lackingS3Settings(env) : [])]);
}

/** The largest body a request may have: a multipart post with a text and ten pictures (docs/specification.md, "Limits"). */
export function largestRequestBytes(maxImageBytes: number): number {
  return MAX_TEXT_BYTES + MAX_FILES_PER_REQUEST * maxImageBytes + MULTIPART_OVERHEAD_BYTES;
}

function readEach<M extends keyof Config>(
  env: Environment,
  members: readonly M[],
): { readonly values: Pick<Config, M>; readonly problems: string[] } {
  const problems: string[] = [];
  const values = members.map((member) => {
    const setting: Setting<unknown> = SETTINGS[member];
    const reading = readSetting(env, setting);
    if ('value' in reading) return [member, reading.value];
    problems.push(reading.problem);
    return [member, setting.fallback];
  });
  return { values: Object.freeze(Object.fromEntries(values)), problems };
}

function usable<T>(values: T, problems: readonly string[]): T {
  if (problems.length > 0) throw new ConfigError(problems);
  return values;
}

function databaseProblems(
  env: Environment,
  { storage, database }: Pick<Config, 'storage' | 'database'>,
): string[] {
  if (storage === 'fs') {
    if (database === undefined) return [];
    return ['SERVICE_DATABASE_URL must not be set where SERVICE_STORAGE is fs, which has no database'];
  }
  const problems: string[] = [];
  if (storage === 'postgres' && !isSet(env, 'SERVICE_DATABASE_URL'))
    problems.push('SERVICE_DATABASE_URL must be set where SERVICE_STORAGE is postgres');
  if (database !== undefined && database.kind !== PLACES[storage])
    problems.push(
      `SERVICE_DATABASE_URL must be a ${storage === 'sqlite' ? 'file' : 'postgres'}: URL where SERVICE_STORAGE is ${storage}`,
    );
  return problems;
}

function databaseSecretProblems(env: Environment, { storage }: Config): string[] {
  if (storage === 'fs' || isSet(env, 'SERVICE_SECRET')) return [];
  return [`SERVICE_SECRET must be set, at least 32 bytes long, where SERVICE_STORAGE is ${storage}`];
}

/** Settings of an image store that is not chosen are only looked at one by one. */
function imageProblems(
  env: Environment,
  { storage, images }: ImageSettings & Pick<Config, 'storage'>,
): string[] {
  if (storage === 'fs' && images !== 'db')
    return ['SERVICE_IMAGES must be db where SERVICE_STORAGE is fs, for there pictures are files anyway'];
  return images === 's3' ? lackingS3Settings(env) : [];
}

function lackingS3Settings(env: Environment): string[] {
  return S3_NEEDS.map((member) => SETTINGS[member].name)
    .filter((name) => !isSet(env, name))
    .map((name) => `${name} must be set where SERVICE_IMAGES is s3`);
}

function equalSecretProblems(config: Config): string[] {
  const set = SECRETS.flatMap((member) => {
    const value = config[member];
    return value === undefined ? [] : [{ name: SETTINGS[member].name, bytes: Buffer.from(value) }];
  });
  return set.flatMap(({ name, bytes }, i) =>
    set
      .slice(i + 1)
      .filter((other) => other.bytes.equals(bytes))
      .map((other) => `${name} and ${other.name} must not be equal`),
  );
}

function bodyMemoryProblems({ bodyMemoryBytes, maxImageBytes }: Config): string[] {
  const least = leastBodyMemory(largestRequestBytes(maxImageBytes));
  if (bodyMemoryBytes >= least) return [];
  return [
    `SERVICE_BODY_MEMORY_BYTES must be at least ${least}, to have room for the largest request ` +
      `(ten pictures of SERVICE_MAX_IMAGE_BYTES and a text), not ${bodyMemoryBytes}`,
  ];
}

/** With a password the reserved names are feeds, and each name is its feed's read id (contract §2). */
function reservedFeedProblems({ reservedFeeds, reservedPassword }: Config): string[] {
  if (reservedPassword === undefined) return [];
  if ([...reservedFeeds].every((name) => isReadId(name) && !ROUTE_NAMES.has(name))) return [];
  return [
    'SERVICE_RESERVED_FEEDS must hold names of 3 to 64 characters that are no address of the service ' +
      '(such as login) when SERVICE_RESERVED_PASSWORD is set, for they are read ids too',
  ];
}

/** With a part of its settings missing, sign-in would be off and the instance perhaps open: that is refused. */
function signInProblems(env: Environment): string[] {
  const isGiven = (member: keyof Config) => isSet(env, SETTINGS[member].name);
  const given = [...SIGN_IN_NEEDS, ...SIGN_IN_CHOICES].find(isGiven);
  if (given === undefined) return [];
  return [...SIGN_IN_NEEDS, 'publicUrl' as const]
    .filter((member) => !isGiven(member))
    .map((member) => `${SETTINGS[member].name} must be set where ${SETTINGS[given].name} is`);
}

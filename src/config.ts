import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { DERIVATIONS } from './feeds/ids.ts';
import { MAX_KEEP_DAYS } from './feeds/keeping.ts';
import { largestRequestBytes } from './feeds/limits.ts';
import { type FeedName, isReadId, ROUTE_NAMES } from './feeds/names.ts';
import { leastBodyMemory } from './http/body-memory.ts';
import { type ProviderSettings, readProviders, secretVariable } from './provider-settings.ts';
import {
  type Environment,
  formerSettings,
  isSet,
  missingSettings,
  readSetting,
  type Setting,
  setting,
  unknownSettings,
} from './setting.ts';
import {
  baseUrl,
  bucketName,
  databaseUrl,
  feedNames,
  folder,
  host,
  hubs,
  integer,
  lineOfText,
  oneOf,
  onOff,
  processCount,
  publicKeys,
  readableFile,
  regionName,
  secretBytes,
  secretText,
  targetUrl,
  timeZone,
  urlTemplate,
  wordOr,
} from './setting-kinds.ts';
import { LOG_LEVELS } from './telemetry/log.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const MAX_UNIX_ID = 2 ** 32 - 2;
/** More than any instance has. */
const MAX_COUNT = 1_000_000_000;

/** A pebibyte: more than any instance has. */
const MAX_BYTES = 1024 * 1024 * GIB;

/** In place of an address: the service itself takes reports. */
export const BUILT_IN_REPORTS = 'builtin';

/** Every setting: its member of `Config`, variable, kind and default. */
const SETTINGS = {
  host: setting('HOST', host, '0.0.0.0'),
  port: setting('PORT', integer([0, 65_535]), 3000),
  publicUrl: setting('PUBLIC_URL', baseUrl),
  dataDir: setting('DATA_DIR', folder, resolve('data')),
  puid: setting('PUID', integer([0, MAX_UNIX_ID])),
  pgid: setting('PGID', integer([0, MAX_UNIX_ID])),
  timeZone: setting('TZ', timeZone, 'UTC'),
  title: setting('SERVICE_TITLE', lineOfText(100), 'Note Feed'),
  password: setting('SERVICE_PASSWORD', secretText([1, 256])),
  trustProxy: setting('SERVICE_TRUST_PROXY', onOff, false),
  storage: setting('SERVICE_STORAGE', oneOf(['fs', 'sqlite', 'postgres']), 'fs'),
  database: setting('SERVICE_DATABASE_URL', databaseUrl),
  databaseListen: setting('SERVICE_DATABASE_LISTEN', onOff, true),
  images: setting('SERVICE_IMAGES', oneOf(['db', 'fs', 's3']), 'db'),
  imagesDir: setting('SERVICE_IMAGES_DIR', folder),
  imagesKeepHours: setting('SERVICE_IMAGES_KEEP_HOURS', integer([0, 8_760]), 0),
  s3Endpoint: setting('SERVICE_S3_ENDPOINT', baseUrl),
  s3Bucket: setting('SERVICE_S3_BUCKET', bucketName),
  s3Region: setting('SERVICE_S3_REGION', regionName, 'us-east-1'),
  s3AccessKey: setting('SERVICE_S3_ACCESS_KEY', secretText([1, 256])),
  s3SecretKey: setting('SERVICE_S3_SECRET_KEY', secretText([1, 1024])),
  secret: setting('SERVICE_SECRET', secretBytes(32)),
  derivedReadIds: setting('SERVICE_DERIVED_READ_IDS', oneOf(DERIVATIONS)),
  operatorToken: setting('SERVICE_OPERATOR_TOKEN', secretText([32, 1024])),
  rateLimit: setting('SERVICE_RATE_LIMIT', integer([0, 1_000_000]), 60),
  maxConnectionsPerClient: setting('SERVICE_MAX_CONNECTIONS_PER_CLIENT', integer([0, 1_000_000])),
  maxFeeds: setting('SERVICE_MAX_FEEDS', integer([0, MAX_COUNT]), 0),
  maxNotesPerFeed: setting('SERVICE_MAX_NOTES_PER_FEED', integer([0, MAX_COUNT]), 0),
  maxImagesPerFeed: setting('SERVICE_MAX_IMAGES_PER_FEED', integer([0, MAX_COUNT]), 0),
  maxBytesPerFeed: setting('SERVICE_MAX_BYTES_PER_FEED', integer([0, MAX_BYTES], ' of bytes'), 0),
  maxBytes: setting('SERVICE_MAX_BYTES', integer([0, MAX_BYTES], ' of bytes'), 0),
  search: setting('SERVICE_SEARCH', onOff, true),
  keepDays: setting('SERVICE_KEEP_DAYS', integer([0, MAX_KEEP_DAYS]), 0),
  reservedFeeds: setting('SERVICE_RESERVED_FEEDS', feedNames, new Set<FeedName>()),
  reservedPassword: setting('SERVICE_RESERVED_PASSWORD', secretText([1, 256])),
  allowCustomIds: setting('SERVICE_ALLOW_CUSTOM_IDS', onOff, true),
  imageUploads: setting('SERVICE_IMAGE_UPLOADS', onOff, true),
  maxImageBytes: setting('SERVICE_MAX_IMAGE_BYTES', integer([1, GIB], ' of bytes'), 5 * MIB),
  shrinkImageBytes: setting('SERVICE_SHRINK_IMAGE_BYTES', integer([1, GIB], ' of bytes'), MIB),
  parseTimeoutMs: setting('SERVICE_PARSE_TIMEOUT_MS', integer([1, 600_000], ' of milliseconds'), 10_000),
  cacheBytes: setting('SERVICE_CACHE_BYTES', integer([MIB, 1024 * GIB], ' of bytes'), 64 * MIB),
  bodyMemoryBytes: setting('SERVICE_BODY_MEMORY_BYTES', integer([MIB, 1024 * GIB], ' of bytes'), 256 * MIB),
  workers: setting('SERVICE_WORKERS', integer([1, 256]), availableParallelism()),
  processes: setting('SERVICE_PROCESSES', processCount(64), 1),
  metrics: setting('SERVICE_METRICS', onOff, false),
  metricsToken: setting('SERVICE_METRICS_TOKEN', secretText([1, 256])),
  logLevel: setting('SERVICE_LOG_LEVEL', oneOf(LOG_LEVELS), 'info'),
  logRequests: setting('SERVICE_LOG_REQUESTS', onOff, true),
  imprintFile: setting('SERVICE_IMPRINT_FILE', readableFile),
  privacyFile: setting('SERVICE_PRIVACY_FILE', readableFile),
  termsFile: setting('SERVICE_TERMS_FILE', readableFile),
  noticeFile: setting('SERVICE_NOTICE_FILE', readableFile),
  websubHubs: setting('SERVICE_WEBSUB_HUBS', hubs, [] as readonly string[]),
  purgeUrl: setting('SERVICE_PURGE_URL', targetUrl),
  purgeToken: setting('SERVICE_PURGE_TOKEN', secretText([1, 1024])),
  reportUrl: setting(
    'SERVICE_REPORT_URL',
    wordOr(BUILT_IN_REPORTS, urlTemplate(['read_id', 'note_id', 'file'])),
  ),
  licenseKeys: setting('SERVICE_LICENSE_PUBLIC_KEY', publicKeys),
  licenseUrl: setting('SERVICE_LICENSE_URL', urlTemplate([])),
};

/** These must differ from each other and from every client secret, so that who knows one of them does not know another. */
const SECRETS = ['secret', 'password', 'operatorToken', 'metricsToken', 'purgeToken'] as const;

const S3_NEEDS = ['s3Endpoint', 's3Bucket', 's3AccessKey', 's3SecretKey'] as const;
const IMAGE_SETTINGS = ['dataDir', 'images', 'imagesDir', 's3Region', ...S3_NEEDS] as const;

type Settings = typeof SETTINGS;

type Values = {
  readonly [Member in keyof Settings]: Settings[Member] extends Setting<infer T> ? T : never;
};

/** The settings of one run of the service. Sizes are in bytes. */
export interface Config extends Values {
  /** The providers that people sign in with; none if sign-in is off. */
  readonly providers: readonly ProviderSettings[];
}

export type ImageSettings = Pick<Config, (typeof IMAGE_SETTINGS)[number]>;

/** The environment holds values that cannot be used. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** One sentence for each wrong variable, without any secret value. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}

/** Reads all settings. Throws `ConfigError` with every problem if one of them cannot be used. */
export function readConfig(env: Environment): Config {
  const members = Object.keys(SETTINGS) as (keyof Values)[];
  const { providers, problems, variables } = readProviders(env);
  const names = [...members.map(nameOf), ...variables];
  const values = readSome(env, members, (config) => [
    ...unknownSettings(env, names),
    ...formerSettings(env, names),
    ...databaseProblems(env, config),
    ...databaseSecretProblems(env, config),
    ...processProblems(config),
    ...imageProblems(env, config),
    ...equalSecretProblems(config, providers),
    ...bodyMemoryProblems(config),
    ...reservedFeedProblems(config),
    ...hubProblems(env, config),
    ...purgeProblems(env, config),
    ...problems,
  ]);
  return Object.freeze({ ...values, providers });
}

/**
 * Reads some settings.
 * @param problemsOf finds what is wrong with them together
 * @throws ConfigError if one of them cannot be used
 */
export function readSome<M extends keyof Values>(
  env: Environment,
  members: readonly M[],
  problemsOf: (values: Pick<Values, M>) => string[] = () => [],
): Pick<Values, M> {
  const problems: string[] = [];
  const values = members.map((member) => {
    const setting: Setting<unknown> = SETTINGS[member];
    const reading = readSetting(env, setting);
    if ('value' in reading) return [member, reading.value];
    problems.push(reading.problem);
    return [member, setting.fallback];
  });
  const config: Pick<Values, M> = Object.freeze(Object.fromEntries(values));
  problems.push(...problemsOf(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Reads the place of the notes. Throws `ConfigError` if its settings contradict each other. */
export function readPlace(env: Environment): Pick<Config, 'storage' | 'database' | 'dataDir'> {
  return readSome(env, ['storage', 'database', 'dataDir'], (values) => databaseProblems(env, values));
}

/** Reads the place of pictures, as `readPlace` does. */
export function readImages(env: Environment): ImageSettings {
  return readSome(env, IMAGE_SETTINGS, ({ images }) => (images === 's3' ? missingForS3(env) : []));
}

function nameOf(member: keyof Values): string {
  return SETTINGS[member].name;
}

/** A sentence for each setting without a value. */
function missing(env: Environment, members: readonly (keyof Values)[], reason: string): string[] {
  return missingSettings(env, members.map(nameOf), reason);
}

function databaseProblems(
  env: Environment,
  { storage, database }: Pick<Config, 'storage' | 'database'>,
): string[] {
  if (storage === 'fs') {
    if (database === undefined) return [];
    return ['SERVICE_DATABASE_URL must not be set where SERVICE_STORAGE is fs, which has no database'];
  }
  const [kind, scheme] = storage === 'sqlite' ? ['file', 'file'] : ['server', 'postgres'];
  const problems = storage === 'postgres' ? missing(env, ['database'], 'SERVICE_STORAGE is postgres') : [];
  if (database !== undefined && database.kind !== kind)
    problems.push(`SERVICE_DATABASE_URL must be a ${scheme}: URL where SERVICE_STORAGE is ${storage}`);
  return problems;
}

function databaseSecretProblems(env: Environment, { storage }: Values): string[] {
  if (storage === 'fs' || isSet(env, 'SERVICE_SECRET')) return [];
  return [`SERVICE_SECRET must be set, at least 32 bytes long, where SERVICE_STORAGE is ${storage}`];
}

/** Only the database keeps the limits of several processes, and tells them of each other's changes. */
function processProblems({ processes, storage }: Values): string[] {
  if (processes === 1 || storage === 'postgres') return [];
  return [`SERVICE_PROCESSES must be 1 where SERVICE_STORAGE is ${storage}, which only one process may use`];
}

/** Settings of a store that is not chosen may be set, but each must be valid. */
function imageProblems(env: Environment, { storage, images }: Values): string[] {
  if (storage === 'fs' && images !== 'db')
    return ['SERVICE_IMAGES must be db where SERVICE_STORAGE is fs, for there pictures are files anyway'];
  return images === 's3' ? missingForS3(env) : [];
}

function missingForS3(env: Environment): string[] {
  return missing(env, S3_NEEDS, 'SERVICE_IMAGES is s3');
}

/** Client secrets of two providers may be equal, because the providers choose them. */
function equalSecretProblems(config: Values, providers: readonly ProviderSettings[]): string[] {
  const own = SECRETS.filter((member) => config[member] !== undefined).map((member) => ({
    variable: nameOf(member),
    secret: Buffer.from(config[member] as string),
  }));
  const clients = providers.map(({ name, clientSecret }) => ({
    variable: secretVariable(name),
    secret: Buffer.from(clientSecret),
  }));
  return own.flatMap(({ variable, secret }, i) =>
    [...own.slice(i + 1), ...clients]
      .filter((other) => other.secret.equals(secret))
      .map((other) => `${variable} and ${other.variable} must not be equal`),
  );
}

function bodyMemoryProblems({ bodyMemoryBytes, maxImageBytes }: Values): string[] {
  const least = leastBodyMemory(largestRequestBytes(maxImageBytes));
  if (bodyMemoryBytes >= least) return [];
  return [
    `SERVICE_BODY_MEMORY_BYTES must be at least ${least}, to have room for the largest request ` +
      `(an import, or ten pictures of SERVICE_MAX_IMAGE_BYTES and a text), not ${bodyMemoryBytes}`,
  ];
}

/** With a password the reserved names are feeds, and each name is its feed's read id (contract §2). */
function reservedFeedProblems({ reservedFeeds, reservedPassword }: Values): string[] {
  if (reservedPassword === undefined) return [];
  if ([...reservedFeeds].every((name) => isReadId(name) && !ROUTE_NAMES.has(name))) return [];
  return [
    'SERVICE_RESERVED_FEEDS must hold names of 3 to 64 characters that are no address of the service ' +
      '(such as login) when SERVICE_RESERVED_PASSWORD is set, for they are read ids too',
  ];
}

/** The addresses that hubs are told must be those by which their subscribers know the feeds. */
function hubProblems(env: Environment, { websubHubs }: Values): string[] {
  return websubHubs.length === 0 ? [] : missing(env, ['publicUrl'], 'SERVICE_WEBSUB_HUBS is');
}

function purgeProblems(env: Environment, { purgeToken }: Values): string[] {
  return purgeToken === undefined ? [] : missing(env, ['purgeUrl'], 'SERVICE_PURGE_TOKEN is set');
}

import { BUILT_IN_REPORTS, type Config, ConfigError, readConfig } from './config.ts';
import { dropPrivileges, type Owner, type Privileges } from './privileges.ts';
import { databasePath, filesOfDatabase } from './storage/open-storage.ts';
import { cannotBeUsed } from './system-errors.ts';
import { errorFields } from './telemetry/fields.ts';
import { createLog, type Log } from './telemetry/log.ts';
import { VERSION } from './version.ts';

/** Interval of looking for the parent, ms. */
const PARENT_CHECK_MS = 1000;
/** Time in which a second signal may be the same Ctrl-C, ms. */
const ECHO_MS = 500;

export interface Service {
  /** For example `http://0.0.0.0:3000`. */
  readonly url: string;
  /** Finishes running requests and frees everything. */
  stop(): Promise<void>;
}

/** @param owner gets every file that the service makes */
type StartService = (config: Config, log: Log, owner: Owner | undefined) => Promise<Service>;

/**
 * Runs the process from its settings to the first signal. Exits with 0 after a stop, and with 1 if the start or the stop
 * fails or an error is unhandled.
 */
export async function run(startService: StartService): Promise<void> {
  const config = readSettings();
  const log = createLog({ level: config.logLevel });
  log.info('starting', { version: VERSION, node: process.versions.node });
  const exit = async (code: number) => {
    await log.close();
    process.exit(code);
  };
  logWarnings(log);
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    process.on(event, (err) => {
      log.error('unhandled error; exiting', { err });
      exit(1);
    });
  }
  const requested = stopRequest();
  const service = await start(config, log, startService);
  if (!service) return exit(1);
  process.stderr.write(welcome(service.url, config));
  log.info('stopping', { reason: await requested });
  try {
    await service.stop();
  } catch (err) {
    log.error('the stop failed', { err });
    return exit(1);
  }
  log.info('stopped');
  return exit(0);
}

/** Logs Node's warnings. Those of experimental features are debug messages, because operators cannot act on them. */
function logWarnings(log: Log): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => {
    const isExperimental = name === 'ExperimentalWarning';
    log[isExperimental ? 'debug' : 'warn']('Node warns', { warning: `${name}: ${message}` });
  });
}

function readSettings(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) process.stderr.write(`${problem}\n`);
    process.exit(1);
  }
}

async function start(config: Config, log: Log, startService: StartService): Promise<Service | undefined> {
  try {
    const { owner, warning } = reducePrivileges(config);
    if (warning) log.warn(warning);
    const service = await startService(config, log, owner);
    log.info('started', { url: service.url });
    warnOfGaps(config, log);
    return service;
  } catch (err) {
    log.debug('the start failed', { err });
    process.stderr.write(`Note Feed cannot start: ${errorFields(err).message}\n`);
    return undefined;
  }
}

function warnOfGaps(config: Config, log: Log): void {
  const { password, providers, metrics, metricsToken, reportUrl, operatorToken } = config;
  if (password === undefined && providers.length === 0)
    log.warn('SERVICE_PASSWORD is not set: whoever reaches the service may make feeds and post notes');
  else if (metrics && metricsToken === undefined)
    log.warn('SERVICE_METRICS_TOKEN is not set: whoever reaches the service may read its metrics');
  if (reportUrl === BUILT_IN_REPORTS && operatorToken === undefined)
    log.warn('SERVICE_OPERATOR_TOKEN is not set: the service takes reports, but nobody can read them');
}

function reducePrivileges(config: Config): Privileges {
  const { storage, dataDir, puid, pgid } = config;
  const dataFiles = storage === 'sqlite' ? filesOfDatabase(databasePath(config)) : [];
  try {
    return dropPrivileges({ dataDir: storage === 'postgres' ? undefined : dataDir, dataFiles, puid, pgid });
  } catch (error) {
    throw cannotBeUsed(`DATA_DIR=${dataDir}`, error);
  }
}

/** For standard error, because the log is on standard output. */
function welcome(url: string, { title, publicUrl, password, providers }: Config): string {
  const base =
    publicUrl ?? url.replace(/\/\/(0\.0\.0\.0|\[::\])(?=:|\/|$)/, '//localhost').replace(/\/$/, '');
  if (password === undefined && providers.length > 0)
    return `${title} is open at ${base}. Sign in there to post.\n`;
  const bearer = password === undefined ? '' : '-H "Authorization: Bearer $SERVICE_PASSWORD" ';
  const post = `curl -d 'Hello' ${bearer}${base}/my-first-feed`;
  return `${title} is open at ${base}. Post a first note with: ${post}\n`;
}

/**
 * Settles with the reason to stop: the first SIGTERM or SIGINT, or, under npm, the end of the parent, because a killed npm
 * leaves its child running. A second signal exits with code 1.
 *
 * Under npm, Ctrl-C arrives twice, from the terminal and from npm, so a signal soon after the first is ignored.
 */
function stopRequest(): Promise<string> {
  const underNpm = process.env.npm_lifecycle_event !== undefined;
  const { promise, resolve } = Promise.withResolvers<string>();
  let first: number | undefined;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      const now = performance.now();
      first ??= now;
      const again = now > first + (underNpm ? ECHO_MS : 0);
      if (again) process.exit(1);
      resolve(signal);
    });
  }
  if (underNpm) {
    const parent = process.ppid;
    const look = () => process.ppid !== parent && resolve('the parent is gone');
    setInterval(look, PARENT_CHECK_MS).unref();
  }
  return promise;
}

import { BUILT_IN_REPORTS, type Config, ConfigError, readConfig } from './config.ts';
import { configuredPlace } from './images/open-images.ts';
import { dropPrivileges, type Owner, type Privileges } from './privileges.ts';
import { shareOf } from './processes/share.ts';
import { Supervisor } from './processes/supervisor.ts';
import { SupervisorLink } from './processes/supervisor-link.ts';
import { stopRequests, supervisedStopRequests } from './stop-requests.ts';
import { databasePath, filesOfDatabase } from './storage/open-storage.ts';
import { cannotBeUsed } from './system-errors.ts';
import { errorFields } from './telemetry/fields.ts';
import { createLog, type Log } from './telemetry/log.ts';
import type { ProcessGroup } from './telemetry/process-metrics.ts';
import { VERSION } from './version.ts';

export interface Service {
  /** For example `http://0.0.0.0:3000`. */
  readonly url: string;
  /** Lets clients go to the other processes that share the port, if there are any. Call `stop` after it, or during it. */
  drain?(): Promise<void>;
  /** Finishes running requests and frees everything. */
  stop(): Promise<void>;
}

/**
 * @param owner gets every file that the service makes
 * @param group of processes that this one belongs to
 */
type StartService = (
  config: Config,
  log: Log,
  owner: Owner | undefined,
  group?: ProcessGroup,
) => Promise<Service>;

/**
 * Runs the process from its settings to the first signal. With several processes it is their supervisor, or one of them.
 * Exits with 0 after a stop, which also ends a start, and with 1 if the start or the stop fails or an error is unhandled.
 */
export async function run(startService: StartService): Promise<void> {
  const config = readSettings();
  const { link, drain, stop } = SupervisorLink.isSupervised
    ? supervisedStopRequests()
    : { ...stopRequests(), link: undefined };
  const log = createLog({ level: config.logLevel, members: link && { pid: process.pid } });
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
  const starting = start(config, log, startService, link);
  // A start that waits, such as for the locks of a backup, is left as a kill would leave it: nothing has been acknowledged.
  const isLeft = await Promise.race([starting.then(() => false), stop.then(() => true)]);
  if (isLeft) {
    log.info('stopped before the start was done', { reason: await stop });
    return exit(0);
  }
  const service = await starting;
  if (!service) return exit(1);
  if (link) link.ready(service.url);
  else process.stderr.write(welcome(service.url, config));
  log.info('stopping', { reason: await Promise.race([drain, stop]) });
  try {
    // A stop ends a drain.
    await Promise.race([drain.then(() => service.drain?.()), stop]);
    await service.stop();
    await link?.leave();
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

/** Starts the service, or the supervisor of its processes. The warnings of a process are those of its supervisor. */
async function start(
  config: Config,
  log: Log,
  startService: StartService,
  link: SupervisorLink | undefined,
): Promise<Service | undefined> {
  try {
    const { owner, warning } = reducePrivileges(config);
    if (warning && !link) log.warn(warning);
    const isSupervisor = config.processes > 1 && !link;
    const service = isSupervisor
      ? await Supervisor.start(config, log)
      : await startService(shareOf(config), log, owner, link);
    log.info('started', {
      url: service.url,
      ...(isSupervisor && { processes: config.processes, supervisor: process.pid }),
    });
    if (!link) warnOfGaps(config, log);
    return service;
  } catch (err) {
    log.debug('the start failed', { err });
    const { message } = errorFields(err);
    if (link) await link.failed(message);
    else process.stderr.write(`Note Feed cannot start: ${message}\n`);
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
  const { storage, puid, pgid } = config;
  const dataFiles = storage === 'sqlite' ? filesOfDatabase(databasePath(config)) : [];
  const place = configuredPlace(config);
  const pictures = place?.kind === 'fs' ? place.dir : undefined;
  const dataDir = storage === 'postgres' ? pictures : config.dataDir;
  try {
    return dropPrivileges({ dataDir, dataFiles, puid, pgid });
  } catch (error) {
    throw cannotBeUsed(`${dataDir === config.dataDir ? 'DATA_DIR' : 'SERVICE_IMAGES_DIR'}=${dataDir}`, error);
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

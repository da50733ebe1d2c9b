import { dirname } from 'node:path';
import { Access } from './access/access.ts';
import { type Person, Sessions, Unlocks } from './access/cookies.ts';
import { PasswordRenewal, Passwords } from './access/passwords.ts';
import type { Cdn } from './cdn/cdn.ts';
import type { Config } from './config.ts';
import { NoteIds } from './feeds/ids.ts';
import { readHook } from './hooks/read-hook.ts';
import { refusalAnswer } from './http/answer.ts';
import { HttpServer } from './http/server.ts';
import { checkHeaderValues } from './http/uws.ts';
import { ImageOperator } from './images/image-operator.ts';
import { withMetrics } from './images/image-store.ts';
import { configuredPlace, openImages } from './images/open-images.ts';
import { withImageStore } from './images/with-image-store.ts';
import { Blocks } from './ingest/blocks.ts';
import { Editing } from './ingest/edit.ts';
import { feedLimits } from './ingest/feed-rules.ts';
import { FeedSettingsWriter } from './ingest/feed-settings.ts';
import { Importing } from './ingest/importing.ts';
import type { Licensing } from './ingest/licensing.ts';
import { OperatedFeeds } from './ingest/operated-feeds.ts';
import { PictureTexts, TEXT_THREADS } from './ingest/picture-texts.ts';
import { Posting } from './ingest/post.ts';
import { Preparation } from './ingest/preparation.ts';
import { Reports } from './ingest/reports.ts';
import { makeReservedFeeds } from './ingest/reserved-feeds.ts';
import { Sweeping } from './ingest/sweeping.ts';
import { Takedown } from './ingest/takedown.ts';
import { FeedEvents } from './live/feed-events.ts';
import { once } from './once.ts';
import type { Owner } from './privileges.ts';
import { ReadCache } from './read/cache.ts';
import { FileBodies } from './read/file-bodies.ts';
import type { RenderingPools } from './read/lanes.ts';
import { LegalTexts } from './read/legal-texts.ts';
import { Matches } from './read/matches.ts';
import { Reader } from './read/reader.ts';
import { Renderer } from './read/renderer.ts';
import { ViewMaker } from './read/view-maker.ts';
import { ownBytes } from './read/views/compose.ts';
import { withAdmission } from './routes/admission.ts';
import type { OperationParts } from './routes/operation.ts';
import { operations } from './routes/operations.ts';
import { siteForVisitor } from './routes/visitor.ts';
import type { Service } from './run.ts';
import { SignIn } from './sign-in/sign-in.ts';
import { backupMark } from './storage/backup-mark.ts';
import { databasePath, type OpenedStorage, openStorage } from './storage/open-storage.ts';
import type { Storage } from './storage/storage.ts';
import { TEXT_NICE } from './task-limit.ts';
import { auditLog, eventLog, type RecordEvent, requestLog, toolLog } from './telemetry/events.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { ProcessGroup } from './telemetry/process-metrics.ts';
import { Assets } from './web/assets.ts';
import { errorPage } from './web/error-page.ts';
import { siteOf } from './web/site-of-config.ts';
import type { WebSub } from './websub/websub.ts';
import { WorkerPool } from './worker-pool.ts';
import type { FeedLimits } from './writing/limits.ts';

/** Rendered HTML may take the size of the read cache divided by this, beside it. */
const RENDERED_PART = 4;
/** Tasks that may wait for a worker; more are refused as `busy`. */
const MAX_QUEUE = 1_000;
/** Concurrent password hashes: the smallest machine has two cores. */
const HASHING_THREADS = 2;
/** Passwords that may wait: the work of a quarter of a second. */
const MAX_HASHING_QUEUE = 50;
/** Time limit for tasks that run when the last request has ended, ms. */
const DRAIN_MS = 1_000;

const UNTRUSTED_PROXY =
  'a request had X-Forwarded-For, which is not believed: if it came through a proxy of yours, set SERVICE_TRUST_PROXY=1, ' +
  'or all its clients count as one; if not, leave it off, because anybody can send that field';

/**
 * Builds and starts the service. Settles when it takes requests.
 * @param group of processes that this one belongs to
 */
export async function startService(
  config: Config,
  log: Log,
  owner: Owner | undefined,
  group?: ProcessGroup,
): Promise<Service> {
  // Imported lazily, because most instances have no metrics.
  const metrics = config.metrics ? (await import('./telemetry/metrics.ts')).createMetrics(group) : undefined;
  const stores = await openStores(config, log, owner, metrics);
  const pools = createPools(config, metrics);
  const cache = new ReadCache(config.cacheBytes);
  const parts = await createParts(config, log, { ...stores, pools, cache, metrics });
  const { access, site, signIn } = parts;
  // Before anything can be posted, because nobody else tells of a change.
  const webSub = await createWebSub(config, log, stores.storage, metrics);
  const cdn = await createCdn(config, log, stores.storage, metrics);
  const { host, port, processes, publicUrl, trustProxy, maxConnectionsPerClient } = config;
  const server = await HttpServer.listen({
    host,
    port,
    processes,
    publicUrl,
    trustProxy,
    maxConnectionsPerClient,
    onUntrustedProxy: () => log.warn(UNTRUSTED_PROXY),
    bodyMemory: config.bodyMemoryBytes,
    observe: config.logRequests ? notifyBoth(requestLog(log), metrics?.request) : metrics?.request,
    observeErrors: config.logRequests ? undefined : requestLog(log),
    // Clients below /api are programs, whatever they accept.
    refuse: (refusal, exchange) =>
      exchange.path.startsWith('/api/')
        ? refusalAnswer(refusal)
        : errorPage(siteForVisitor(site, access, exchange), refusal, exchange),
    operations: operations({ ...parts, readiness: () => readinessProblem(server, stores.storage) }).map(
      (operation) => withAdmission(operation, access, site),
    ),
  });
  checkHeaderValues(log);
  const sweeping = new Sweeping(stores.storage, log);
  // Not awaited, because everything else works while the provider is down.
  signIn?.check();
  const streams = () => server.openStreams;
  const { bodies, connections } = server;
  metrics?.watch({ cache, pools, bodies, streams, connections, linesLost: () => log.linesLost() });
  metrics?.watchResources({
    checkStorage: () => stores.storage.check(),
    folders: watchedFolders(config),
    backupMark: backupMark(config.dataDir),
  });
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`,
    drain: () => server.drain(),
    async stop() {
      await server.stop();
      await sweeping.stop();
      await Promise.all([webSub?.stop(), cdn?.stop()]);
      // Nobody waits for the tasks that are left.
      await Promise.all(Object.values(pools).map((pool) => pool.drain(DRAIN_MS)));
      await stores.storage.close();
    },
  };
}

/** Folders that may fill a disk of this machine, by what is in them. */
function watchedFolders(config: Config): Record<string, string> {
  const images = configuredPlace(config);
  return {
    data: config.dataDir,
    ...(config.storage === 'sqlite' && { database: dirname(databasePath(config)) }),
    ...(images?.kind === 'fs' && { images: images.dir }),
  };
}

interface Stores extends OpenedStorage {
  readonly images: ImageOperator;
}

/** Opens the storage, and the image store around it if there is one. */
async function openStores(
  config: Config,
  log: Log,
  owner: Owner | undefined,
  metrics: Metrics | undefined,
): Promise<Stores> {
  const place = configuredPlace(config);
  const bare = place && (await openImages(place, owner));
  const opened = await openStorage(config, log, { owner, commits: metrics?.commits });
  const { pictures: rows } = opened;
  const store = bare && metrics ? withMetrics(bare, metrics.images.recordOperation) : bare;
  const images = new ImageOperator({ rows, place, store, recordScan: metrics?.images.recordScan });
  if (!store || !rows) return { ...opened, images };
  metrics?.images.watch(store, rows);
  const keptMs = config.imagesKeepHours * 3_600_000;
  return { ...opened, images, storage: withImageStore(opened.storage, { rows, store, keptMs }) };
}

type Pools = RenderingPools & Readonly<Record<'checks' | 'texts' | 'slowTexts' | 'hashing', WorkerPool>>;

/** Separate pools, so that slow texts and a flood of passwords (10 ms of a core each) delay no other work. */
function createPools({ workers: threads, processes }: Config, metrics: Metrics | undefined): Pools {
  const common = { threads, maxQueue: MAX_QUEUE, observe: metrics?.task };
  // Of usual texts few are slow, so one thread is enough.
  const slow = { ...common, threads: 1, nice: TEXT_NICE };
  const ofTexts = { ...common, threads: TEXT_THREADS, nice: TEXT_NICE };
  return {
    checks: new WorkerPool(common),
    parsing: new WorkerPool(common),
    slowParsing: new WorkerPool(slow),
    slowestParsing: new WorkerPool(slow),
    texts: new WorkerPool(ofTexts),
    slowTexts: new WorkerPool(ofTexts),
    hashing: new WorkerPool({
      ...common,
      threads: Math.ceil(HASHING_THREADS / processes),
      maxQueue: MAX_HASHING_QUEUE,
    }),
  };
}

interface Foundation extends Stores {
  readonly pools: Pools;
  readonly cache: ReadCache;
  readonly metrics: Metrics | undefined;
}

async function createParts(
  config: Config,
  log: Log,
  foundation: Foundation,
): Promise<Omit<OperationParts, 'readiness'>> {
  const { storage, images, pools, secret, metrics } = foundation;
  const passwords = new Passwords(pools.hashing, secret);
  const { allowCustomIds, reservedFeeds, reservedPassword } = config;
  await makeReservedFeeds({ reservedFeeds, reservedPassword, storage, passwords, log });
  const gate = createAccess(config, log, foundation, passwords);
  const record = eventLog(log);
  const texts = new PictureTexts(pools, config.parseTimeoutMs);
  const { records } = storage;
  const preparation = new Preparation({ checks: pools.checks, texts, ids: new NoteIds(), records });
  const limits = feedLimits(config);
  const writing = {
    allowCustomIds,
    reservedFeeds,
    access: gate.access,
    storage,
    preparation,
    passwords,
    limits,
    record,
  };
  const posting = new Posting(writing);
  const settings = new FeedSettingsWriter(writing);
  const blocks = new Blocks(records);
  const assets = await Assets.build();
  const site = siteOf(config, assets.paths);
  const licensing = await createLicensing(config, storage, limits, record);
  const renderer = new Renderer(pools, config.cacheBytes / RENDERED_PART);
  const reader = createReader(config, foundation, { renderer, site, licensing });
  const { imprintFile: imprint, privacyFile: privacy, termsFile: terms, noticeFile: notice } = config;
  return {
    ...gate,
    storage,
    posting,
    readHook: (request) => readHook(pools.checks, request),
    parseLargeMessage: (body) => pools.checks.run('parse-message', ownBytes(body)),
    importing: new Importing({
      ...writing,
      posting,
      checks: pools.checks,
      maxImageBytes: config.maxImageBytes,
      takesSenders: gate.signIn === undefined,
    }),
    temporaryFolder: config.dataDir,
    editing: new Editing(writing),
    settings,
    reader,
    events: new FeedEvents(storage, reader),
    images,
    operatedFeeds: new OperatedFeeds({ storage, settings, record }),
    blocks,
    takedown: new Takedown({ storage, blocks, record }),
    reports: new Reports(records),
    audit: auditLog(log),
    // On plain files pictures are files, too.
    places: { storage: config.storage, images: config.storage === 'fs' ? 'fs' : config.images },
    limits,
    licensing,
    maxImageBytes: config.maxImageBytes,
    metrics,
    site,
    legalTexts: new LegalTexts({ imprint, privacy, terms, notice }, renderer),
    assets,
    observeTool: notifyBoth(toolLog(log, config.logRequests), metrics?.tool),
    publicUrl: config.publicUrl,
  };
}

/** Who may, sign-in with a provider, and the OAuth server of a locked instance. */
function createAccess(
  config: Config,
  log: Log,
  { storage, secret, counts }: OpenedStorage,
  passwords: Passwords,
): Pick<OperationParts, 'access' | 'signIn' | 'oauth'> {
  const { password, providers, publicUrl = '' } = config;
  const { metrics, metricsToken, operatorToken, rateLimit, reservedFeeds, reservedPassword } = config;
  const renewal = new PasswordRenewal({ storage, passwords, log });
  const signIn = providers.length > 0 ? new SignIn({ providers, publicUrl, secret, log }) : undefined;
  const voidedBy = password === undefined ? [] : [password];
  const admits = (person: Person) => signIn?.admits(person) ?? false;
  // An open instance has none.
  const isLocked = password !== undefined || signIn !== undefined;
  const sessions = isLocked ? new Sessions({ secret, voidedBy, admits }) : undefined;
  const oauth =
    sessions &&
    once(async () => new (await import('./oauth/oauth.ts')).OAuth({ secret, voidedBy }, storage, admits));
  const access = new Access({
    password,
    // Without metrics their address is 404, whatever is sent.
    metricsToken: metrics ? metricsToken : undefined,
    operatorToken,
    rateLimit,
    reservedFeeds,
    reservedPassword,
    storage,
    passwords,
    renewal,
    counts,
    sessions,
    unlocks: new Unlocks(secret),
    accessTokens: oauth && (async (token, base) => (await oauth()).verifyAccessToken(token, base)),
  });
  return { access, signIn, oauth };
}

/** Imported lazily, because most instances have no hubs. */
async function createWebSub(
  { websubHubs, publicUrl }: Config,
  log: Log,
  storage: Storage,
  metrics: Metrics | undefined,
): Promise<WebSub | undefined> {
  if (websubHubs.length === 0) return undefined;
  const { WebSub } = await import('./websub/websub.ts');
  return new WebSub(websubHubs, { publicUrl: publicUrl!, storage, log, observe: metrics?.announcements() });
}

/** Imported lazily, because most instances tell no CDN. */
async function createCdn(
  { purgeUrl: url, purgeToken: token }: Config,
  log: Log,
  storage: Storage,
  metrics: Metrics | undefined,
): Promise<Cdn | undefined> {
  if (url === undefined) return undefined;
  const { Cdn } = await import('./cdn/cdn.ts');
  return new Cdn({ url, token, storage, log, observe: metrics?.purges() });
}

/** Imported lazily, because most instances need no licenses. */
async function createLicensing(
  { licenseKeys }: Config,
  storage: Storage,
  limits: FeedLimits,
  record: RecordEvent,
): Promise<Licensing | undefined> {
  if (licenseKeys === undefined) return undefined;
  const { Licenses } = await import('./licenses/licenses.ts');
  const { Licensing } = await import('./ingest/licensing.ts');
  return new Licensing({ storage, limits, record, licenses: new Licenses(licenseKeys) });
}

function createReader(
  { title, websubHubs: hubs }: Config,
  { storage, cache, pools }: Foundation,
  { renderer, site, licensing }: Pick<OperationParts, 'site' | 'licensing'> & { readonly renderer: Renderer },
): Reader {
  const files = new FileBodies(storage, cache.largestEntry);
  storage.onChange(({ readIds, removed, isUnnamed }) => {
    // A feed that got another read id may get the old one back, and no change until then is told with that.
    const isMoved = readIds.length > 1;
    for (const readId of readIds) {
      if (removed || isUnnamed || isMoved) files.forgetHashes(readId);
      cache.drop(readId);
    }
  });
  storage.onFreshness?.((isFresh) => {
    files.forgetAllHashes();
    cache.setEnabled(isFresh);
  });
  return new Reader({
    storage,
    matches: new Matches(pools),
    cache,
    renderer,
    views: new ViewMaker(pools.checks),
    files,
    serviceTitle: title,
    site,
    hubs,
    tierOf: licensing && ((feed) => licensing.tierOf(feed)),
  });
}

/** Why requests should go elsewhere now. */
async function readinessProblem(server: HttpServer, storage: Storage): Promise<string | undefined> {
  if (server.isStopping) return 'stopping';
  if (server.connections.isNearlyFull) return 'too many connections';
  try {
    await storage.check();
    return undefined;
  } catch {
    return 'storage unavailable';
  }
}

function notifyBoth<T>(
  first: (event: T) => void,
  second: ((event: T) => void) | undefined,
): (event: T) => void {
  if (second === undefined) return first;
  return (event) => {
    first(event);
    second(event);
  };
}

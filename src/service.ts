import { Access, type AccessTokens } from './access/access.ts';
import { PasswordRenewal } from './access/password-renewal.ts';
import { Passwords } from './access/passwords.ts';
import { Sessions } from './access/sessions.ts';
import { Unlocks } from './access/unlocks.ts';
import { TEXT_NICE } from './background.ts';
import type { Config } from './config.ts';
import { NoteIds } from './feeds/ids.ts';
import { refusalAnswer } from './http/answer.ts';
import { keepsHeaderValues } from './http/header-values.ts';
import { HttpServer } from './http/server.ts';
import { ImageOperator } from './images/image-operator.ts';
import { withImageStore } from './images/image-storage.ts';
import { withMetrics } from './images/observed-store.ts';
import { configuredPlace, openImages } from './images/open-images.ts';
import { Sweeper } from './images/sweeper.ts';
import { Editing } from './ingest/edit.ts';
import { feedLimits } from './ingest/feed-limits.ts';
import { FeedSettingsWriter } from './ingest/feed-settings.ts';
import type { Licensing, LicensingParts } from './ingest/licensing.ts';
import { PictureTexts, TEXT_THREADS } from './ingest/picture-texts.ts';
import { Posting } from './ingest/post.ts';
import { Preparation } from './ingest/preparation.ts';
import { makeReservedFeeds } from './ingest/reserved-feeds.ts';
import { Takedown } from './ingest/takedown.ts';
import { FeedEvents } from './live/feed-events.ts';
import type { OAuth } from './oauth/oauth.ts';
import type { Owner } from './privileges.ts';
import { ReadCache } from './read/cache.ts';
import { ChangeSeconds } from './read/change-seconds.ts';
import { FileBodies } from './read/file-bodies.ts';
import { LegalTexts } from './read/legal-texts.ts';
import { Reader } from './read/reader.ts';
import { Renderer } from './read/renderer.ts';
import { ViewMaker } from './read/view-maker.ts';
import { admitting } from './routes/admission.ts';
import { operations } from './routes/operations.ts';
import type { Service } from './run.ts';
import { isAllowed } from './sign-in/people.ts';
import { SignIn, type SignInSettings, signInLocks, signInSettings } from './sign-in/sign-in.ts';
import { openStorage } from './storage/open-storage.ts';
import type { Storage } from './storage/storage.ts';
import { eventLog } from './telemetry/events.ts';
import type { Log } from './telemetry/log.ts';
import { requestLog } from './telemetry/request-log.ts';
import { toolLog } from './telemetry/tool-outcome.ts';
import { Assets } from './web/assets.ts';
import { errorPage } from './web/error-page.ts';
import { type Site, siteOf } from './web/site.ts';
import { WorkerPool } from './worker-pool.ts';

/** Rendered HTML gets this part of the read cache's size on top of it. */
const RENDERED_PART = 4;
/** Tasks that wait for a worker at most; beyond it the answer is `busy`. */
const MAX_QUEUE = 1_000;
/** Passwords hashed at once: two are all that the least machine can give. */
const HASHING_THREADS = 2;
/** Passwords that wait for that at most: what is done in a quarter of a second. */
const MAX_HASHING_QUEUE = 50;

const UNTRUSTED_PROXY =
  'a request had X-Forwarded-For, which is not believed: if it came through a proxy of yours, set SERVICE_TRUST_PROXY=1, ' +
  'or all its clients count as one; if not, leave it off, because anybody can send that field';

/** How long tasks may take when all requests are over, in ms. */
const LEFTOVER_MS = 1_000;

/** Puts the parts together and starts them. The promise settles when the service takes requests. */
export async function startService(config: Config, log: Log, owner: Owner | undefined): Promise<Service> {
  // Loaded only where it is asked for: without it nothing is counted.
  const metrics = config.metrics ? (await import('./telemetry/metrics.ts')).createMetrics() : undefined;
  const place = configuredPlace(config);
  const images = place && (await openImages(place, owner));
  const opened = await openStorage(config, log, { owner, commits: metrics?.commits });
  const { pictures, secret, counts } = opened;
  const store = images && metrics ? withMetrics(images, metrics.images.asked) : images;
  const storage =
    store && pictures
      ? withImageStore({ database: opened.storage, store, sweeper: new Sweeper(pictures, store) })
      : opened.storage;
  if (store && pictures) metrics?.images.watch({ store, rows: pictures });
  // Pools of their own: a text that takes long to read must keep no other work from being done.
  const ofWorkers = { threads: config.workers, maxQueue: MAX_QUEUE, observe: metrics?.task };
  const checks = new WorkerPool(ofWorkers);
  const parsing = new WorkerPool(ofWorkers);
  const ofTexts = { ...ofWorkers, threads: TEXT_THREADS, nice: TEXT_NICE };
  const texts = new WorkerPool(ofTexts);
  const slowTexts = new WorkerPool(ofTexts);
  // And one for passwords: each takes a core for 10 ms, so a flood of them must not hold up anything else.
  const hashing = new WorkerPool({
    threads: HASHING_THREADS,
    maxQueue: MAX_HASHING_QUEUE,
    observe: metrics?.task,
  });
  const pools = { checks, parsing, texts, slowTexts, hashing };
  const passwords = new Passwords(hashing, secret);
  await makeReservedFeeds({ ...config, storage, passwords, log });
  const renewal = new PasswordRenewal({ storage, passwords, log });
  const signingIn = signInSettings(config);
  const signIn = signingIn && new SignIn({ ...signingIn, secret, log });
  const locks = locksOf(config, signingIn);
  const admits = (email: string) => isAllowed(signingIn?.allow ?? [], email);
  const sessions = locks.length === 0 ? undefined : new Sessions({ secret, locks, admits });
  const unlocks = new Unlocks(secret);
  const oauth = sessions && oauthServer([{ secret, locks }, storage, admits]);
  const accessTokens: AccessTokens | undefined =
    oauth && (async (token, base) => (await oauth()).grants.access(token, base));
  const access = new Access({
    ...config,
    storage,
    passwords,
    renewal,
    counts,
    sessions,
    unlocks,
    accessTokens,
  });
  const record = eventLog(log);
  const placing = new PictureTexts(pools, config.parseTimeoutMs);
  const preparation = new Preparation({ checks, texts: placing, ids: new NoteIds() });
  const writing = { ...config, storage, preparation, record };
  const cache = new ReadCache(config.cacheBytes);
  const assets = new Assets();
  const limits = feedLimits(config);
  const site = siteOf(config, assets.paths, limits);
  const renderer = new Renderer(parsing, config.cacheBytes / RENDERED_PART);
  const legalTexts = new LegalTexts(
    {
      imprint: config.imprintFile,
      privacy: config.privacyFile,
      terms: config.termsFile,
      notice: config.noticeFile,
    },
    renderer,
  );
  const licensing = await createLicensing(config, { storage, limits, record });
  const table = operations({
    posting: new Posting({ ...writing, access, passwords }),
    editing: new Editing(writing),
    settings: new FeedSettingsWriter({ ...config, storage, passwords, record }),
    reader: createReader(config, storage, cache, { checks, renderer, site, licensing }),
    events: new FeedEvents(storage),
    images: new ImageOperator({ rows: pictures, place, store, examined: metrics?.images.examined }),
    takedown: new Takedown(storage, record),
    limits,
    licensing,
    maxImageBytes: config.maxImageBytes,
    metrics,
    site,
    legalTexts,
    assets,
    access,
    oauth,
    observeTool: both(toolLog(log, config.logRequests), metrics?.tool),
    signIn,
    publicUrl: config.publicUrl,
    readiness: () => obstacle(server, storage),
  });
  const server: HttpServer = await HttpServer.listen({
    host: config.host,
    port: config.port,
    publicUrl: config.publicUrl,
    trustProxy: config.trustProxy,
    onUntrustedProxy: () => log.warn(UNTRUSTED_PROXY),
    bodyMemory: config.bodyMemoryBytes,
    observe: config.logRequests ? both(requestLog(log), metrics?.request) : metrics?.request,
    observeErrors: config.logRequests ? undefined : requestLog(log),
    // Programs ask below /api, whatever they say that they accept.
    refuse: (refusal, exchange) =>
      exchange.path.startsWith('/api/') ? refusalAnswer(refusal) : errorPage(site, refusal, exchange),
    operations: table.map((operation) => admitting(operation, access, site)),
  });
  checkHeaderValues(log);
  const bodyBytes = () => server.bodyBytes;
  const streams = () => server.openStreams;
  metrics?.watch({ cache, pools, bodyBytes, streams, linesLost: () => log.linesLost() });
  return {
    url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${server.port}`,
    async stop() {
      await server.stop();
      // Whoever waited for what is left has been cut off.
      await Promise.all(Object.values(pools).map((pool) => pool.drain(LEFTOVER_MS)));
      await storage.close();
    },
  };
}

/** What locks the instance: the password, what people sign in with, or both; empty for an open one. */
function locksOf({ password }: Config, signingIn: SignInSettings | undefined): string[] {
  return [...(password === undefined ? [] : [password]), ...(signingIn ? signInLocks(signingIn) : [])];
}

/** The OAuth server of an instance that something locks; loaded when it is first asked for. */
function oauthServer(parts: ConstructorParameters<typeof OAuth>): () => Promise<OAuth> {
  let loaded: Promise<OAuth> | undefined;
  return () => {
    loaded ??= import('./oauth/oauth.ts').then(({ OAuth }) => new OAuth(...parts));
    return loaded;
  };
}

/** Loaded only where feeds need a license. */
async function createLicensing(
  { licenseKeys }: Config,
  parts: Omit<LicensingParts, 'licenses'>,
): Promise<Licensing | undefined> {
  if (licenseKeys === undefined) return undefined;
  const { Licenses } = await import('./licenses/licenses.ts');
  const { Licensing } = await import('./ingest/licensing.ts');
  return new Licensing({ ...parts, licenses: new Licenses(licenseKeys) });
}

/** Warns of a binding that loses letters. Nobody waits for it, and nothing fails with it. */
function checkHeaderValues(log: Log): void {
  keepsHeaderValues().then(
    (areWhole) => {
      if (!areWhole)
        log.warn(
          'this build of uWebSockets.js drops letters beyond ASCII from both ends of header values; ' +
            'install/mend-binding.cjs mends the one for Linux on x86-64',
        );
    },
    (err) => log.debug('cannot tell whether header values arrive whole', { err }),
  );
}

function createReader(
  { title }: Config,
  storage: Storage,
  cache: ReadCache,
  {
    checks,
    renderer,
    site,
    licensing,
  }: { checks: WorkerPool; renderer: Renderer; site: Site; licensing: Licensing | undefined },
): Reader {
  const changes = new ChangeSeconds();
  storage.onChange(({ readIds }) => {
    for (const readId of readIds) {
      cache.drop(readId);
      changes.note(readId);
    }
  });
  storage.onHearing?.((hears) => {
    cache.hearsChanges(hears);
    changes.forget();
  });
  return new Reader({
    storage,
    cache,
    changes,
    renderer,
    views: new ViewMaker(checks),
    files: new FileBodies(storage, cache.largestEntry),
    serviceTitle: title,
    site,
    tierOf: licensing && ((feed) => licensing.tierOf(feed)),
  });
}

/** Why requests should go elsewhere now. */
async function obstacle(server: HttpServer, storage: Storage): Promise<string | undefined> {
  if (server.isStopping) return 'stopping';
  try {
    await storage.check();
    return undefined;
  } catch {
    return 'storage unavailable';
  }
}

/** Tells two of the same. */
function both<T>(first: (told: T) => void, second: ((told: T) => void) | undefined): (told: T) => void {
  if (second === undefined) return first;
  return (told) => {
    first(told);
    second(told);
  };
}

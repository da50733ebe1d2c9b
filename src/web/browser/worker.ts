import { isFeedSegment } from '../../feeds/names.ts';
import { OfflineCache } from './keeping/offline-cache.ts';
import { forgetPosts, sendWaiting } from './keeping/outbox.ts';
import { forgetShared, keepShared } from './keeping/shared.ts';
import { type FetchEvent, worker } from './keeping/worker-scope.ts';

// The service worker (docs/browser.md): what was read can be read without a network, and what was written is sent later.

/** Path of the instance, with a slash at its end. */
const ROOT = new URL('.', location.href).pathname;
const CACHES = {
  pages: new OfflineCache('pages', ROOT, 60),
  pictures: new OfflineCache('pictures', ROOT, 100),
  assets: new OfflineCache('assets', ROOT, 60),
};
/** Larger pictures are not kept, bytes. */
const MAX_PICTURE_BYTES = 4 * 1024 * 1024;
/** Parameters that choose which notes a page shows. Pages with other parameters are shown only once, so they are not kept. */
const CHOOSING = new Set(['q', 'tag', 'from', 'to', 'before']);
/** Statuses of a proxy that does not reach the service. */
const UNREACHABLE = new Set([502, 503, 504]);
/** Statuses that say that this reader may not see the page, or that it does not exist. */
const GONE = new Set([401, 403, 404, 410]);

worker.addEventListener('install', (event) => {
  // Deletions bypass this worker: a request that a page sends while it is left may be lost here, and the note would stay.
  const past = event.addRoutes?.({ condition: { requestMethod: 'DELETE' }, source: 'network' });
  event.waitUntil(Promise.all([past, worker.skipWaiting()]));
});
worker.addEventListener('activate', (event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener('fetch', (event) => {
  const { method } = event.request;
  const url = new URL(event.request.url);
  if (url.origin !== location.origin || !url.pathname.startsWith(ROOT)) return;
  if (method === 'POST') return onPost(event, url);
  const kind = method === 'GET' ? kindOf(event.request, url) : undefined;
  if (kind === 'assets') event.respondWith(keptFirst(event, url));
  else if (kind !== undefined) event.respondWith(networkFirst(event, url, kind));
});

worker.addEventListener('message', (event) => {
  // Sent by `offline.ts`.
  const { keep = [], sends = false } = event.data as { keep?: string[]; sends?: boolean };
  // A page that was on its way while this worker became active is not controlled yet.
  event.waitUntil(Promise.all([worker.clients.claim(), ...keep.map(keepNow), sends && sendWaiting()]));
});

worker.addEventListener('sync', (event) => {
  const send = async () => {
    // The browser tries again after an error.
    if (!(await sendWaiting())) throw new Error('the service cannot be reached');
  };
  event.waitUntil(send());
});

/** Which cache an answer belongs to; none for what is not kept: settings, log-in, the API. */
function kindOf(request: Pick<Request, 'mode' | 'headers'>, url: URL): keyof typeof CACHES | undefined {
  const [first = '', second, third] = url.pathname.slice(ROOT.length).replace(/\/$/, '').split('/');
  // The client for the terminal has no hash in its name.
  if (first === 'static') return second === 'nf' ? undefined : 'assets';
  if (first === 'r' && third?.includes('.'))
    return /\.(?:png|jpg|gif|webp)$/.test(third) && !request.headers.has('Range') ? 'pictures' : undefined;
  const isPage = request.mode === 'navigate' || request.headers.get('Accept')?.includes('text/html');
  if (!isPage) return undefined;
  if (first === '' || (first === 'r' && second !== undefined)) return 'pages';
  return isFeedSegment(first) && second !== 'settings' ? 'pages' : undefined;
}

/** Assets have a hash in their name, so they never change. */
async function keptFirst(event: FetchEvent, url: URL): Promise<Response> {
  const kept = await findIn(CACHES.assets, url);
  if (kept !== undefined) return kept.answer;
  const answer = await fetch(event.request);
  if (answer.status === 200) event.waitUntil(CACHES.assets.keep(url, answer.clone()));
  return answer;
}

async function networkFirst(event: FetchEvent, url: URL, kind: 'pages' | 'pictures'): Promise<Response> {
  const { request } = event;
  const cache = CACHES[kind];
  const drops = cache.drops;
  const answer = await fetch(request).catch((error: unknown) => error as Error);
  const isReached = answer instanceof Response && !UNREACHABLE.has(answer.status);
  if (isReached) {
    event.waitUntil(keepOrDrop(kind, url, answer.clone(), drops));
    return answer;
  }
  // A script that asks for its page again wants to know how it is now.
  const isShown = kind === 'pictures' || request.mode === 'navigate';
  const kept = isShown ? await findIn(cache, cacheAddress(url)) : undefined;
  if (kept !== undefined) return kind === 'pages' ? dated(kept) : kept.answer;
  if (answer instanceof Response) return answer;
  throw answer;
}

/** Like `find` of the cache, but undefined if the browser cannot read it: a page needs its scripts all the same. */
function findIn(cache: OfflineCache, url: URL): ReturnType<OfflineCache['find']> {
  return cache.find(url).catch(() => undefined);
}

/** Adds to a kept page when it was kept. `offline.ts` shows that to the reader. */
async function dated({ answer, storedAt }: { answer: Response; storedAt: number }): Promise<Response> {
  const document = await answer.text();
  return new Response(document.replace('<html ', `<html data-stored-at="${storedAt}" `), answer);
}

async function keepOrDrop(
  kind: 'pages' | 'pictures',
  url: URL,
  answer: Response,
  drops: number,
): Promise<void> {
  const cache = CACHES[kind];
  const key = cacheAddress(url);
  const { status, type, redirected } = answer;
  if (GONE.has(status) || type === 'opaqueredirect' || redirected) return cache.drop(key);
  const isTooLarge =
    kind === 'pictures' && !(Number(answer.headers.get('Content-Length')) <= MAX_PICTURE_BYTES);
  const isWhole = status === 200 && type === 'basic';
  if (isWhole && !isTooLarge && key.search === url.search) await cache.keep(key, answer, drops);
}

/** The address under which a page is kept: without the parameters of pages that are shown only once. */
function cacheAddress(url: URL): URL {
  const plain = new URL(url);
  plain.hash = '';
  for (const name of [...plain.searchParams.keys()]) if (!CHOOSING.has(name)) plain.searchParams.delete(name);
  return plain;
}

/** Keeps what a page shows that was loaded before there was a service worker. */
async function keepNow(address: string): Promise<void> {
  const url = new URL(address, location.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(ROOT)) return;
  const headers = new Headers({ Accept: url.pathname.includes('.') ? '*/*' : 'text/html' });
  const kind = kindOf({ mode: 'cors', headers }, url);
  if (kind === undefined) return;
  const { drops } = CACHES[kind];
  const answer = await fetch(url, { headers }).catch(() => undefined);
  if (kind !== 'assets' && answer) await keepOrDrop(kind, url, answer, drops);
  else if (answer?.status === 200) await CACHES.assets.keep(url, answer);
}

function onPost(event: FetchEvent, url: URL): void {
  const path = url.pathname.slice(ROOT.length);
  const [feed = '', action] = path.split('/');
  if (path === 'api/share') event.respondWith(share(event.request));
  // A form of another site, which the service refuses: forms of its own pages have a referrer.
  else if (!event.request.referrer.startsWith(`${location.origin}/`)) return;
  else if (path === 'logout') event.waitUntil(forgetAll());
  else if (action === 'access') event.waitUntil(lock(event.request.clone(), url, ROOT + feed));
  else if (action === 'delete') event.waitUntil(CACHES.pages.dropAllLike(url));
}

/** What another app shares, by `share_target` of the manifest; the start page asks for which feed it is. */
async function share(request: Request): Promise<Response> {
  await keepShared(await request.formData());
  return Response.redirect(`${ROOT}?shared=1`, 303);
}

async function forgetAll(): Promise<void> {
  await Promise.all([CACHES.pages.dropAll(), CACHES.pictures.dropAll(), forgetPosts(), forgetShared()]);
}

async function lock(request: Request, url: URL, path: string): Promise<void> {
  await CACHES.pages.dropAllLike(url);
  if ((await request.formData()).get('action') === 'lock') await forgetPosts(path);
}

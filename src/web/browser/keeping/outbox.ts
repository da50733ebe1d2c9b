import { del, get, promisifyRequest, set, values } from 'idb-keyval';
import { inTime } from '../page/in-time.ts';
import { headerBytes } from '../page/text.ts';
import { storeIn } from './store.ts';

/** The `Idempotency-Key`s under which the content of a box was sent. The service may have stored each of these posts, because its answer was lost. */
export interface SentKeys {
  /** Of the content as it is now. */
  readonly key?: string | undefined;
  /** Of the content before it was changed. */
  readonly formerKeys?: readonly string[] | undefined;
}

/** A post that waits until the service can be reached. */
export interface WaitingPost extends SentKeys {
  /** The service stores it once, however often it is sent. */
  readonly key: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: readonly (readonly [name: string, value: string | File])[];
  /** Ms since the epoch. */
  readonly keptAt: number;
  /** Why the service refused it. A refused post is sent again only when the person asks for it. */
  readonly refusal?: { readonly code: string; readonly error: string } | undefined;
}

const NAME = 'outbox';
/** How long a box waits until its post is kept, ms. */
const PATIENCE_MS = 10_000;
/** How long to ask whether a post is stored, ms. */
const LOOK_MS = 3_000;
/** The longest a request may take, ms: on a slow network 10 pictures take minutes. */
const TIMEOUT_MS = 600_000;
/** Statuses below 500 after which a later attempt may succeed. */
const PASSING = new Set([408, 425, 429]);
/** The status of a service without room for the post: it may never have any, and posts to other feeds must not wait for that. */
const FULL = 507;

/** The refusal of a post whose words a note may have already. Its sentence is for people, because the page may have to show it without a network. */
export const STORED_BEFORE = {
  code: 'stored_before',
  error: 'What you had posted before you changed this is stored already. Send this again if you want both.',
};

/** The header of a post that makes its feed. */
const IF_NEW = 'If-None-Match';

const store = storeIn(NAME, 'posts');

/**
 * Keeps a post on this device, to be sent when the service can be reached: by any page, and by the service worker.
 * @param request must have a form as its body and an `Idempotency-Key` header
 * @returns false if it cannot be kept: it has a password, which is never stored; the browser does not store it within `PATIENCE_MS`; or
 *   the browser has no locks, as without https
 */
export async function keepForLater(
  request: Pick<WaitingPost, 'path' | 'headers' | 'formerKeys'> & { readonly body: FormData },
): Promise<boolean> {
  const { path, headers, body, formerKeys } = request;
  const key = headers['Idempotency-Key'];
  if (key === undefined || 'X-Feed-Password' in headers || navigator.locks === undefined) return false;
  const post: WaitingPost = { key, formerKeys, path, headers, parts: [...body], keptAt: Date.now() };
  const kept = set(key, post, store);
  try {
    await inTime(kept, PATIENCE_MS);
  } catch {
    kept.then(() => removeLate(post)).catch(() => {});
    return false;
  }
  announce();
  await requestSync().catch(() => {});
  return true;
}

/** Deletes a post that was kept after the person was told that it is not, unless it was kept once more since. */
async function removeLate({ key, keptAt }: WaitingPost): Promise<void> {
  if ((await get<WaitingPost>(key, store))?.keptAt === keptAt) await del(key, store);
}

/** The posts that wait, oldest first: those for one path, or all. */
export async function waiting(path?: string): Promise<WaitingPost[]> {
  const posts: WaitingPost[] = await values(store).catch(() => []);
  const wanted = path === undefined ? posts : posts.filter((post) => post.path === path);
  return [...wanted].sort((a, b) => a.keptAt - b.keptAt);
}

/**
 * Sends what waits, oldest first, until the service cannot be reached. A lock lets one window, or the service worker, send at a time.
 * @param key of one post to send again although the service has refused it; it waits like the others if it cannot be sent now
 * @returns false if the service could not be reached, so that posts still wait
 */
export async function sendWaiting(key?: string): Promise<boolean> {
  return inTurn(async () => {
    const refusal = key === undefined ? undefined : (await get<WaitingPost>(key, store))?.refusal;
    if (key !== undefined && refusal !== undefined) {
      const isWanted = refusal.code === STORED_BEFORE.code;
      await change(key, { refusal: undefined, ...(isWanted && { formerKeys: [] }) });
      announce();
      await requestSync().catch(() => {});
    }
    for (const { key: next } of await waiting()) {
      const post = await get<WaitingPost>(next, store);
      if (post === undefined || post.refusal !== undefined) continue;
      const outcome = await sendOne(post);
      if (outcome === 'waits') return false;
      if (outcome === 'sent') await remove(post);
      else await change(next, { refusal: outcome });
      announce(outcome === 'sent' ? next : '');
    }
    return true;
  });
}

/**
 * Takes a post out, so that it is not sent, unless it is stored.
 * @param mayTake asked once no post is being sent, which may take minutes
 * @param keep stores the post elsewhere, and returns whether it does; only then is it taken out, because the page may be left at any
 *   moment
 */
export function takeBack(
  key: string,
  mayTake: () => boolean,
  keep: (post: WaitingPost) => Promise<boolean>,
): Promise<void> {
  return inTurn(async () => {
    const post = mayTake() ? await get<WaitingPost>(key, store) : undefined;
    if (post === undefined) return;
    // Its answer may have been lost.
    const isSent = await askWhetherStored(post.path, [key]);
    if (isSent) await remove(post);
    else if (await keep(post)) await del(key, store);
    else return;
    announce(isSent ? key : '');
  });
}

/** Whether a post waits or is stored, so that its draft is not needed. False if the service cannot be asked. */
export async function isPosted(path: string, key: string): Promise<boolean> {
  const waits = get(key, store).catch(() => undefined);
  return (
    (await inTime(waits, LOOK_MS).catch(() => undefined)) !== undefined ||
    (await askWhetherStored(path, [key])) === true
  );
}

/** Like `isStored`; undefined if the service does not say it in time. */
export function askWhetherStored(path: string, keys: readonly string[]): Promise<boolean | undefined> {
  return inTime(isStored(path, keys), LOOK_MS).catch(() => undefined);
}

/** Deletes what waits: for one path, or all. */
export async function forgetPosts(path?: string): Promise<void> {
  for (const { key } of await waiting(path)) await del(key, store);
  announce();
}

/**
 * Calls the listener whenever posts were kept, sent, refused, taken back or forgotten, in this window or elsewhere.
 * @param listener gets the key of a post that was sent, else an empty string
 */
export function onOutboxChange(listener: (sent: string) => void): void {
  new BroadcastChannel(NAME).onmessage = ({ data }: MessageEvent<string>) => listener(data);
}

function announce(sent = ''): void {
  const channel = new BroadcastChannel(NAME);
  channel.postMessage(sent);
  channel.close();
}

/** Removes a post that was sent. If the post has made its feed, the posts behind it no longer require that the feed is new. */
async function remove({ key, path, headers }: WaitingPost): Promise<void> {
  await del(key, store);
  if (!(IF_NEW in headers)) return;
  for (const post of await waiting(path)) {
    const { [IF_NEW]: isNew, ...others } = post.headers;
    if (isNew !== undefined) await change(post.key, { headers: { ...others, 'If-Match': '*' } });
  }
}

/** Changes a post, in one transaction: a logout, or a lock of the feed, may forget the post at any moment, and it must not come back. */
function change(key: string, changes: Partial<WaitingPost>): Promise<void> {
  return store('readwrite', (posts) => {
    posts.get(key).onsuccess = ({ target }) => {
      const { result } = target as IDBRequest<WaitingPost | undefined>;
      if (result !== undefined) posts.put({ ...result, ...changes }, key);
    };
    return promisifyRequest(posts.transaction);
  });
}

function inTurn<T>(action: () => Promise<T>): Promise<T> {
  return navigator.locks.request(NAME, action) as Promise<T>;
}

/** Asks the browser to start the service worker when it is online, even if no page is open then; not all browsers can. */
async function requestSync(): Promise<void> {
  const registration = await navigator.serviceWorker?.getRegistration();
  await (registration as SyncingRegistration | undefined)?.sync?.register(NAME);
}

interface SyncingRegistration extends ServiceWorkerRegistration {
  /** https://wicg.github.io/background-sync/spec/ */
  readonly sync?: { register(tag: string): Promise<void> };
}

async function sendOne(post: WaitingPost): Promise<'sent' | 'waits' | NonNullable<WaitingPost['refusal']>> {
  const { key, formerKeys = [], path, parts } = post;
  const body = new FormData();
  for (const [name, value] of parts)
    if (typeof value === 'string') body.append(name, value);
    else body.append(name, value, value.name);
  const headers = Object.entries(post.headers).map(([name, value]) => [name, headerBytes(value)] as const);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    if (await isStored(path, formerKeys)) return STORED_BEFORE;
    const answer = await fetch(path, { method: 'POST', headers: Object.fromEntries(headers), body, signal });
    const { status } = answer;
    if (status === 201) return 'sent';
    // A network that asks for a login answers with pages of its own.
    if (status < 400 || mayPass(answer)) return 'waits';
    const { code, error } = await answer.json().catch(() => statusRefusal(answer));
    if (code === 'changed' && (await isStored(path, [key]))) return 'sent';
    return { code, error };
  } catch {
    return 'waits';
  }
}

/** Whether a later attempt may succeed. */
function mayPass({ status }: Response): boolean {
  return (status >= 500 && status !== FULL) || PASSING.has(status);
}

function statusRefusal({ status }: Response) {
  return { code: '', error: `The service answered with status ${status}.` };
}

/**
 * Whether the service has stored a post with one of these keys, whose answer was lost. If the post made its feed, sending it again is
 * refused, because the feed exists now. Rejects if the service does not say it.
 */
async function isStored(path: string, keys: readonly string[]): Promise<boolean> {
  if (keys.length === 0) return false;
  const at = path.lastIndexOf('/');
  const notesPath = `${path.slice(0, at)}/api/v1/feeds${path.slice(at)}/notes?limit=100`;
  const answer = await fetch(notesPath, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (mayPass(answer)) throw new Error(`The service answered with status ${answer.status}.`);
  if (!answer.ok) return false;
  const { notes }: { notes: { key?: string }[] } = await answer.json();
  return notes.some(({ key }) => key !== undefined && keys.includes(key));
}

const STORED_AT = 'X-Stored-At';
const EXPIRES = 'X-Note-Expires';

/** Answers that are kept on this device, by address. The keys hold hashes, because an address may hold the name of a feed. */
export class OfflineCache {
  readonly #name: string;
  readonly #most: number;
  readonly #root: string;
  /** Counts what was dropped, so that an answer from before is not kept after it. */
  #drops = 0;

  /**
   * @param root path of the instance, with a slash at its end
   * @param most how many are kept; those that were used least recently go first
   */
  constructor(name: string, root: string, most: number) {
    // `forget-all.ts` finds the cache by this prefix.
    this.#name = `note-feed-${name} ${root}`;
    this.#root = root;
    this.#most = most;
  }

  get drops(): number {
    return this.#drops;
  }

  /**
   * Keeps an answer; silently not if there is no room for it.
   * @param drops how many there had been when the answer was asked for
   */
  async keep(url: URL, answer: Response, drops = this.#drops): Promise<void> {
    const headers = new Headers(answer.headers);
    if (!headers.has(STORED_AT)) headers.set(STORED_AT, String(Date.now()));
    const key = await this.#key(url);
    const cache = await caches.open(this.#name);
    try {
      await cache.put(key, new Response(answer.body, { headers }));
      const keys = await cache.keys();
      await Promise.all(keys.slice(0, Math.max(0, keys.length - this.#most)).map((old) => cache.delete(old)));
    } catch {
      // The connection broke off, or the disk is full: the older answer may go on to serve.
    }
    if (drops !== this.#drops) await cache.delete(key);
  }

  /** The kept answer, and when it was kept, ms since the epoch; undefined if there is none, or a note in it has expired. */
  async find(url: URL): Promise<{ answer: Response; storedAt: number } | undefined> {
    const cache = await caches.open(this.#name);
    const answer = await cache.match(await this.#key(url), { ignoreVary: true });
    if (answer === undefined) return undefined;
    if (Date.parse(answer.headers.get(EXPIRES) ?? '') <= Date.now()) {
      await this.drop(url);
      return undefined;
    }
    // Storing the answer again makes it the most recently used one.
    await this.keep(url, answer.clone());
    return { answer, storedAt: Number(answer.headers.get(STORED_AT)) };
  }

  async drop(url: URL): Promise<void> {
    this.#drops += 1;
    await (await caches.open(this.#name)).delete(await this.#key(url));
  }

  /** Drops all answers whose address begins with the same segment. */
  async dropAllLike(url: URL): Promise<void> {
    this.#drops += 1;
    const cache = await caches.open(this.#name);
    const folder = new URL('.', await this.#key(url)).href;
    for (const key of await cache.keys()) if (key.url.startsWith(folder)) await cache.delete(key);
  }

  async dropAll(): Promise<void> {
    this.#drops += 1;
    await caches.delete(this.#name);
  }

  async #key({ origin, pathname, search }: URL): Promise<string> {
    const [first = ''] = pathname.slice(this.#root.length).split('/');
    return `${origin}${this.#root}kept/${await hashOf(first)}/${await hashOf(pathname + search)}`;
  }
}

async function hashOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

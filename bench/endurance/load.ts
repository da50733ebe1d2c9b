import { randomInt, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { picture } from '../../test/support/pictures.ts';
import type { Interval } from './samples.ts';

const FEEDS = 40;
const LISTENERS = 20;
/** Notes live so long, ms: the same number of them is there all the time. */
const LIFE = 4 * 60_000;
/** No request takes longer, ms. */
const PATIENCE = 30_000;
const WORDS = ['heron', 'bittern', 'egret', 'stork', 'crane', 'ibis', 'rail', 'coot', 'grebe', 'teal'];

type Timed = keyof Interval['times'];

/** A note that was answered with 201. */
interface Made {
  readonly feed: string;
  readonly id: string;
  readonly at: number;
  isGone: boolean;
}

interface Reply {
  readonly status: number;
  readonly etag: string;
  readonly text: string;
}

/** Clients of all kinds, at rates that leave the machine some rest. */
export class Load {
  /** How often each kind of request ended how. */
  readonly outcomes = new Map<string, number>();
  readonly #urls: readonly string[];
  readonly #folder: string | undefined;
  readonly #operator: string;
  readonly #agent = new Agent({ connections: 64, bodyTimeout: PATIENCE, headersTimeout: PATIENCE });
  readonly #made: Made[] = [];
  /** Notes that nobody changes or deletes, and that do not expire. */
  readonly #kept: Made[] = [];
  readonly #readIds = new Map<string, string>();
  readonly #etags = new Map<string, string>();
  #times: Record<Timed, number[]> = { posts: [], polls: [], searches: [] };
  #counts = { requests: 0, failed: 0, unreached: 0 };
  #since = performance.now();

  /** @param folder in which files are changed by hand, if that can be */
  constructor(urls: readonly string[], folder: string | undefined, operator: string) {
    this.#urls = urls;
    this.#folder = folder;
    this.#operator = operator;
  }

  async run(isOver: () => boolean): Promise<void> {
    const at = (rate: number, work: () => Promise<unknown>) => repeat(1000 / rate, isOver, work);
    await Promise.all([
      at(15, () => this.#post()),
      at(2, () => this.#postPicture()),
      at(0.5, () => this.#postToKeep()),
      at(3, () => this.#edit()),
      at(2, () => this.#delete()),
      ...Array.from({ length: 4 }, () => at(10, () => this.#poll())),
      at(3, () => this.#search()),
      at(0.2, () => this.#operate()),
      ...(this.#folder === undefined ? [] : [at(1, () => this.#byHand())]),
      ...Array.from({ length: LISTENERS }, () => this.#listen(isOver)),
    ]);
  }

  /** What happened since the last call. */
  takeInterval(): Interval {
    const now = performance.now();
    const taken = { times: this.#times, ...this.#counts, seconds: (now - this.#since) / 1000 };
    this.#times = { posts: [], polls: [], searches: [] };
    this.#counts = { requests: 0, failed: 0, unreached: 0 };
    this.#since = now;
    return taken;
  }

  /** Looks for all acknowledged notes that must still be there: how many those are, and how many are not there. */
  async lost(): Promise<[looked: number, lost: number]> {
    let [looked, lost] = [0, 0];
    const isThere = ({ at, isGone }: Made) => !isGone && performance.now() - at < LIFE - PATIENCE;
    for (const { feed, id } of [...this.#kept, ...this.#made.filter(isThere)]) {
      looked += 1;
      if ((await this.#ask('look', 'GET', `/api/v1/feeds/${feed}/notes/${id}`))?.status !== 200) lost += 1;
    }
    return [looked, lost];
  }

  async #post(): Promise<void> {
    await this.#makeForSomeTime(textHeaders(), text());
  }

  async #postPicture(): Promise<void> {
    const bytes = picture('png', randomInt(2_000, 60_000), randomInt(1_000_000));
    await this.#makeForSomeTime({ 'content-type': 'image/png' }, bytes);
  }

  async #postToKeep(): Promise<void> {
    const made = await this.#make(textHeaders(), text());
    if (made) this.#kept.push(made);
  }

  async #makeForSomeTime(headers: Record<string, string>, body: string | Buffer): Promise<void> {
    const made = await this.#make({ ...headers, 'x-note-expires': `${LIFE / 60_000}m` }, body);
    if (!made) return;
    this.#made.push(made);
    while (this.#made.length > 0 && made.at - this.#made[0]!.at > LIFE) this.#made.shift();
  }

  async #make(headers: Record<string, string>, body: string | Buffer): Promise<Made | undefined> {
    const feed = `endurance-${randomInt(FEEDS)}`;
    const at = performance.now();
    const reply = await this.#ask('posts', 'POST', `/${feed}`, body, headers);
    if (reply?.status !== 201) return undefined;
    const { id, read_url } = JSON.parse(reply.text);
    this.#readIds.set(feed, read_url.split('/').at(-2));
    return { feed, id, at, isGone: false };
  }

  async #edit(): Promise<void> {
    const note = this.#some();
    if (!note) return;
    const headers = { 'content-type': 'application/json' };
    await this.#ask('edits', 'PATCH', pathOf(note), JSON.stringify({ title: randomUUID() }), headers);
  }

  async #delete(): Promise<void> {
    const note = this.#some();
    if (!note) return;
    note.isGone = true;
    await this.#ask('deletions', 'DELETE', pathOf(note));
  }

  async #poll(): Promise<void> {
    const readId = [...this.#readIds.values()][randomInt(FEEDS)];
    if (readId === undefined) return;
    const view = randomInt(2) === 0 ? `/r/${readId}/feed.xml` : `/api/v1/read/${readId}/notes`;
    const etag = this.#etags.get(view);
    const reply = await this.#ask('polls', 'GET', view, undefined, etag ? { 'if-none-match': etag } : {});
    if (reply?.etag) this.#etags.set(view, reply.etag);
  }

  async #search(): Promise<void> {
    const words = `${WORDS[randomInt(WORDS.length)]} ${WORDS[randomInt(WORDS.length)]}`;
    const feed = `endurance-${randomInt(FEEDS)}`;
    await this.#ask('searches', 'GET', `/api/v1/feeds/${feed}/notes?q=${encodeURIComponent(words)}`);
  }

  async #operate(): Promise<void> {
    const headers = { authorization: `Bearer ${this.#operator}` };
    for (const path of ['stats', 'feeds'])
      await this.#ask('operator', 'GET', `/api/operator/${path}`, undefined, headers);
  }

  /** A person adds a note to a folder, changes it and removes it. */
  async #byHand(): Promise<void> {
    const feed = [...this.#readIds.keys()][randomInt(FEEDS)];
    if (feed === undefined) return;
    const file = join(this.#folder!, feed, `by-hand-${randomInt(1_000_000)}.md`);
    try {
      writeFileSync(file, 'written by hand');
      await wait(2_000);
      writeFileSync(file, 'written by hand, and changed');
      await wait(2_000);
      rmSync(file);
    } catch {
      // The feed was deleted meanwhile.
    }
  }

  /** Hears of the changes of a feed, and comes again when the stream ends. */
  async #listen(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const readId = [...this.#readIds.values()][randomInt(FEEDS)];
      await wait(500);
      if (readId === undefined) continue;
      try {
        const { body } = await request(`${this.#someUrl()}/r/${readId}/events`, {
          dispatcher: this.#agent,
          bodyTimeout: 0,
          headers: { 'x-forwarded-for': `10.1.${randomInt(250)}.${randomInt(250)}` },
          signal: AbortSignal.timeout(randomInt(10_000, 60_000)),
        });
        for await (const _ of body);
      } catch {
        // Killed, or the time that it listens is over.
      }
    }
  }

  #some(): Made | undefined {
    const notes = this.#made.filter(({ isGone }) => !isGone);
    return notes[randomInt(Math.max(1, notes.length))];
  }

  #someUrl(): string {
    return this.#urls[randomInt(this.#urls.length)]!;
  }

  /** Undefined if nobody answers. */
  async #ask(
    kind: string,
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: string | Buffer,
    headers: Record<string, string> = {},
  ): Promise<Reply | undefined> {
    const begunAt = performance.now();
    this.#counts.requests += 1;
    try {
      const client = { 'x-forwarded-for': `10.0.${randomInt(250)}.${randomInt(250)}` };
      const {
        statusCode,
        headers: answered,
        body: answer,
      } = await request(this.#someUrl() + path, {
        method,
        dispatcher: this.#agent,
        headers: { ...client, ...headers },
        ...(body !== undefined && { body }),
      });
      const text = await answer.text();
      if (kind in this.#times) this.#times[kind as Timed].push(performance.now() - begunAt);
      if (statusCode >= 500) this.#counts.failed += 1;
      this.#count(`${kind} ${statusCode}`);
      return { status: statusCode, etag: String(answered.etag ?? ''), text };
    } catch {
      this.#counts.unreached += 1;
      this.#count(`${kind} unreached`);
      return undefined;
    }
  }

  #count(what: string): void {
    this.outcomes.set(what, (this.outcomes.get(what) ?? 0) + 1);
  }
}

function text(): string {
  const words = Array.from({ length: 60 }, () => WORDS[randomInt(WORDS.length)]);
  return `# ${words[0]}\n\n${words.join(' ')}`;
}

function textHeaders(): Record<string, string> {
  return { 'content-type': 'text/markdown', 'idempotency-key': randomUUID() };
}

function pathOf({ feed, id }: Made): string {
  return `/api/v1/feeds/${feed}/notes/${id}`;
}

/** Begins a work at this pace; one that takes longer holds up none. */
async function repeat(pause: number, isOver: () => boolean, work: () => Promise<unknown>): Promise<void> {
  const running = new Set<Promise<unknown>>();
  for (let next = performance.now(); !isOver(); next += pause) {
    await wait(Math.max(0, next - performance.now()));
    const one = work().finally(() => running.delete(one));
    running.add(one);
  }
  await Promise.all(running);
}

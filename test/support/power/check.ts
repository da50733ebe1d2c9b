import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import { inspectFolder } from '../../../src/storage/files/inspect.ts';
import { eventually } from '../eventually.ts';
import { FeedClient, readIdIn } from '../feed-client.ts';
import { leftovers } from '../leftovers.ts';
import { operate } from '../operator.ts';
import { ask, type Reply } from '../service.ts';
import {
  type Ledger,
  type LedgerFeed,
  type Part,
  type Parts,
  type Post,
  type Settings,
  sha256,
  TEXT,
} from './ledger.ts';
import type { Machine } from './machine.ts';
import { FLEETING, numberIn } from './writer.ts';

/** When notes were listed, and who may do so. */
interface Look {
  readonly client: FeedClient;
  readonly from: number;
  readonly to: number;
}

/** Texts that are searched for after a cut. */
const SEARCHED = 5;

/** A note as a list of the service shows it. */
interface ListedNote {
  readonly id: string;
  readonly type: string;
  readonly file: string;
  /** Null if the feed has no read link. */
  readonly file_url: string | null;
  readonly size: number;
  readonly title: string;
  readonly content?: string;
  readonly alt?: string;
  readonly name?: string;
  readonly tags: readonly string[];
  readonly key?: string;
  readonly expires_at?: string;
}

/** What an operator is shown of a feed. */
interface CountedFeed {
  readonly name: string;
  readonly notes: number;
  readonly bytes: number;
}

/**
 * Compares what a service shows after a power cut with what it promised, and takes down what became of the requests
 * that were not answered.
 * @param isFull looks at the bytes of all pictures, not only of those that the last requests were about
 * @returns a sentence for each difference
 */
export async function differences(machine: Machine, ledger: Ledger, isFull: boolean): Promise<string[]> {
  const check = new Check(machine, ledger, isFull);
  await check.run();
  return check.problems;
}

class Check {
  readonly problems: string[] = [];
  /** Texts that the last requests were about. */
  readonly #fresh: { readonly client: FeedClient; readonly id: string; readonly number: number }[] = [];
  readonly #machine: Machine;
  readonly #url: string;
  readonly #ledger: Ledger;
  readonly #isFull: boolean;

  constructor(machine: Machine, ledger: Ledger, isFull: boolean) {
    this.#machine = machine;
    this.#url = machine.service.url;
    this.#ledger = ledger;
    this.#isFull = isFull;
  }

  async run(): Promise<void> {
    const { feeds } = (await served(() => operate(this.#url, 'GET', '/feeds?limit=1000'))).json;
    const counted = new Map<string, CountedFeed>(feeds.map((feed: CountedFeed) => [feed.name, feed]));
    for (const name of counted.keys())
      if (!this.#ledger.feeds.has(name)) this.problems.push(`${name} was never made, or deleted`);
    const looks = [...this.#ledger.feeds.values()].map((feed) => this.#feed(feed, counted.get(feed.name)));
    await Promise.all([...looks, this.#retired()]);
    if (this.#machine.options.hasSearch) await this.#search();
    if (this.#isFull) await this.#inspect();
    if (!(await eventually(async () => (await leftovers(this.#machine.dataDir)).length === 0)))
      this.problems.push(`left unfinished: ${(await leftovers(this.#machine.dataDir)).join(', ')}`);
    // What failed of the requests of this look is a difference, or was asked again.
    for (const { level, msg } of this.#machine.service.lines)
      if (level === 'error' && msg !== 'request') this.problems.push(`the log has an error: ${msg}`);
  }

  async #feed(feed: LedgerFeed, counted: CountedFeed | undefined): Promise<void> {
    if (counted === undefined) {
      const isPromised = feed.settled !== undefined && !feed.isGoing;
      if (isPromised) this.problems.push(`the feed ${feed.name} is gone`);
      if (feed.isGoing) this.#ledger.removed(feed);
      else this.#ledger.feeds.delete(feed.name);
      return;
    }
    const client = await this.#settings(feed);
    if (client === undefined) return;
    const from = Date.now();
    const notes = await listed(client);
    const to = Date.now();
    const byPost = await this.#byPost(feed, notes);
    await Promise.all(
      feed.posts.map((post) => this.#post(feed, post, byPost.get(post) ?? [], { client, from, to })),
    );
    if (feed.settled === undefined && byPost.size === 0)
      this.problems.push(`${feed.name} is there without the post that was to make it`);
    feed.settled ??= feed.birth;
    feed.isGoing = false;
    if (feed.name !== FLEETING) {
      const bytes = notes.reduce((sum, { size }) => sum + size, 0);
      const counts = [counted.notes, counted.bytes];
      if (!isDeepStrictEqual(counts, [notes.length, bytes]))
        this.problems.push(
          `${feed.name} counts ${counts.join(' notes, ')} bytes, but has ${notes.length}, ${bytes}`,
        );
    }
    await this.#replay(feed, client);
  }

  /** Compares the record of a feed, and learns which of the possible settings it has; returns a client that may read it. */
  async #settings(feed: LedgerFeed): Promise<FeedClient | undefined> {
    for (const possible of feed.possible) {
      const { password } = possible;
      const open = new FeedClient(this.#url, feed.name);
      const client = password === '' ? open : open.with({ 'x-feed-password': password });
      const { status, json } = await served(() => client.get());
      if (status !== 200) continue;
      const isShut =
        json.protected === (password !== '') &&
        (password === '' || (await served(() => open.get())).status === 401);
      const readId = json.read_url === null ? possible.readId : readIdIn(json.read_url);
      const { title, description } = json;
      const shown: Settings = { title, description, password, readId };
      if (!isShut || !isDeepStrictEqual(shown, { ...possible, readId: possible.readId ?? readId })) continue;
      if (feed.settled !== undefined || feed.unsure !== undefined) feed.settled = shown;
      feed.unsure = undefined;
      return client;
    }
    const { json } = await new FeedClient(this.#url, feed.name).get();
    this.problems.push(
      `the record of ${feed.name} is ${JSON.stringify(json)}, but may be ${JSON.stringify(feed.possible)}`,
    );
    return undefined;
  }

  async #byPost(feed: LedgerFeed, notes: readonly ListedNote[]): Promise<Map<Post, ListedNote[]>> {
    const byId = new Map(
      feed.posts.flatMap((post) => [...post.ids.values()].map((id) => [id, post] as const)),
    );
    const byNumber = new Map(feed.posts.map((post) => [post.number, post]));
    const found = new Map<Post, ListedNote[]>();
    for (const note of notes) {
      const post = byId.get(note.id) ?? byNumber.get((await numberOf(note)) ?? -1);
      if (post === undefined)
        this.problems.push(
          `${feed.name} has a note that nobody posted: ${JSON.stringify(note).slice(0, 300)}`,
        );
      else found.set(post, [...(found.get(post) ?? []), note]);
    }
    return found;
  }

  /** Compares the notes of a post, and learns what became of it. */
  async #post(
    feed: LedgerFeed,
    post: Post,
    notes: readonly ListedNote[],
    { client, from, to }: Look,
  ): Promise<void> {
    const found = new Map(notes.map((note) => [slotOf(note), note]));
    const looksClosely = post.isFresh || this.#isFull;
    for (const possible of post.possible) {
      const parts = unexpired(possible, found, from, to);
      if (found.size !== notes.length || !(await this.#isSame(post, parts, found, looksClosely))) continue;
      for (const [slot, { id, file }] of found) {
        post.ids.set(slot, id);
        post.files.set(slot, file);
      }
      for (const slot of post.ids.keys()) if (!found.has(slot)) post.ids.delete(slot);
      if (post.unsure === undefined && parts.size < post.settled.size) post.keyed = undefined;
      const id = post.ids.get(TEXT);
      if (post.isFresh && id !== undefined) this.#fresh.push({ client, id, number: post.number });
      post.settle(parts);
      post.isFresh = false;
      return;
    }
    const shown = notes.map(({ content, ...note }) => ({ ...note, content: content?.slice(0, 40) }));
    const promised = post.possible.map((parts) =>
      [...parts].map(([slot, part]) => ({ slot, ...part, text: part.text?.slice(0, 40) })),
    );
    this.problems.push(
      `post ${post.number} in ${feed.name} is ${JSON.stringify(shown)}, but may be ${JSON.stringify(promised)} with the ids ${[...post.ids.values()]}`,
    );
  }

  async #isSame(
    post: Post,
    parts: Parts,
    found: ReadonlyMap<string, ListedNote>,
    looksClosely: boolean,
  ): Promise<boolean> {
    if (found.size !== parts.size) return false;
    const files = new Map([...post.files, ...[...found].map(([slot, { file }]) => [slot, file] as const)]);
    const same = [...parts].map(async ([slot, part]) => {
      const note = found.get(slot);
      if (note === undefined || (post.ids.get(slot) ?? note.id) !== note.id) return false;
      if (!isDeepStrictEqual(shownOf(note), expectedOf(slot, part, files))) return false;
      if (part.sha256 === undefined || !looksClosely) return true;
      const bytes = await bytesOf(note);
      return bytes.length === note.size && sha256(bytes) === part.sha256;
    });
    return (await Promise.all(same)).every(Boolean);
  }

  /** A client that had no answer asks again, and so does one whose answer was lost behind us. */
  async #replay(feed: LedgerFeed, client: FeedClient): Promise<void> {
    const keyed = feed.posts.filter((post) => post.keyed !== undefined);
    await Promise.all(
      keyed.map(async (post) => {
        const { body, headers: sent } = post.keyed!;
        post.keyed = undefined;
        const [[slot] = ['']] = post.settled;
        if (post.settled.size === 0) return;
        const { status, headers, json } = await served(() => client.post(body, sent));
        const isReplayed = status === 201 && headers.get('idempotent-replayed') === 'true';
        if (!isReplayed || json.id !== post.ids.get(slot))
          this.problems.push(
            `the key of post ${post.number} in ${feed.name} was answered ${status} ${JSON.stringify(json)}`,
          );
      }),
    );
  }

  /** The index of the search may have lost what it knew, and learns it again. */
  async #search(): Promise<void> {
    const looks = this.#fresh.slice(0, SEARCHED).map(async ({ client, id, number }) => {
      const isFound = await eventually(async () => {
        const { json } = await client.list(`?q=s${number}`);
        return json.notes?.some((note: ListedNote) => note.id === id) === true;
      });
      if (!isFound) this.problems.push(`the text of post ${number} in ${client.name} is not found`);
    });
    await Promise.all(looks);
  }

  /** What the API does not show: files that are no notes, pages of the database that are not right. */
  async #inspect(): Promise<void> {
    const { dataDir, options } = this.#machine;
    if (options.storage === 'fs') {
      const { found } = await inspectFolder(dataDir, {});
      for (const { path, problem } of found) this.problems.push(`${path} is ${problem}`);
    }
    if (options.storage === 'sqlite') {
      const db = new Database(`${dataDir}/notefeed.db`, { readonly: true });
      const said = [
        db.pragma('integrity_check', { simple: true }),
        ...(db.pragma('foreign_key_check') as unknown[]),
      ];
      db.close();
      if (!isDeepStrictEqual(said, ['ok'])) this.problems.push(`the database says ${JSON.stringify(said)}`);
    }
  }

  /** The links of deleted feeds stay empty, and nobody gets them. */
  async #retired(): Promise<void> {
    const { retired } = this.#ledger;
    await Promise.all(
      retired.map(async (readId) => {
        const { json } = await served(() => ask(`${this.#url}/api/v1/read/${readId}/notes`));
        if (!isDeepStrictEqual(json, { notes: [], next: null }))
          this.problems.push(`a deleted feed is read at ${readId}`);
      }),
    );
    // Random ones cannot be chosen.
    const last = retired.findLast((readId) => readId.startsWith('chosen-'));
    if (last === undefined) return;
    const { status } = await served(() => new FeedClient(this.#url, 'heir').post('x', { 'x-read-id': last }));
    if (status !== 409) this.problems.push(`a new feed got the read id of a deleted one: ${status}`);
  }
}

/** None without a read link. */
async function bytesOf({ file_url: url }: ListedNote): Promise<Buffer> {
  return url === null ? Buffer.alloc(0) : (await served(() => ask(url))).bytes;
}

/** Asks again while the service is busy, as a machine with many other tests makes it. */
async function served(request: () => Promise<Reply>): Promise<Reply> {
  let reply = await request();
  await eventually(async () => {
    if (reply.status === 503) reply = await request();
    return reply.status !== 503;
  });
  return reply;
}

async function listed(client: FeedClient): Promise<ListedNote[]> {
  const notes: ListedNote[] = [];
  for (let before = ''; ; ) {
    const { json } = await served(() => client.list(`?limit=100${before}`));
    notes.push(...json.notes);
    if (json.next === null) return notes;
    before = `&before=${encodeURIComponent(json.next)}`;
  }
}

async function numberOf(note: ListedNote): Promise<number | undefined> {
  const { tags, content } = note;
  const tag = tags.find((one) => /^s\d+$/.test(one));
  if (tag !== undefined) return Number(tag.slice(1));
  return numberIn(content === undefined ? await bytesOf(note) : Buffer.from(content));
}

function slotOf({ content, name }: ListedNote): string {
  return content === undefined ? (name ?? '') : TEXT;
}

/** Without what has expired; what expired during the look counts if it was seen. */
function unexpired(parts: Parts, found: ReadonlyMap<string, ListedNote>, from: number, to: number): Parts {
  return new Map(
    [...parts].filter(([slot, { expires }]) => {
      if (expires === undefined || Date.parse(expires) > to) return true;
      return Date.parse(expires) > from && found.has(slot);
    }),
  );
}

function shownOf({ type, title, content, alt, tags, key, expires_at: expires }: ListedNote): unknown {
  return { type, title, content, alt, tags, key, expires };
}

function expectedOf(slot: string, part: Part, files: ReadonlyMap<string, string>): unknown {
  const { type, text, alt, tags, key, expires } = part;
  let content = text;
  for (const [name, file] of files)
    if (name !== '' && name !== TEXT) content = content?.replaceAll(`(${name})`, `(${file})`);
  const title = part.title || (text === undefined ? (alt ?? slot) : text.split('\n', 1)[0]);
  return { type, title, content, alt, tags, key, expires };
}

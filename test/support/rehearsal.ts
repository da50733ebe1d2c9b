import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import { FeedClient, readIdIn } from './feed-client.ts';
import { field, file } from './multipart.ts';
import { picture } from './pictures.ts';
import { ask } from './service.ts';

const PASSWORD = { 'x-feed-password': 'open sesame' };
/** Feeds that are posted to, with the headers that let in. The last one's notes are changed and removed again. */
const FEEDS = { open: {}, locked: PASSWORD, changing: {} };
const CLIENTS = 4;
const PNG = { 'content-type': 'image/png' };

type Name = keyof typeof FEEDS;

/** A note that was acknowledged: how it was sent, and the files that it made. */
interface Sent {
  readonly feed: Name;
  readonly id: string;
  readonly key: string;
  readonly title: string;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

const textOf = (n: number) => `# Text ${n}\n\n${'Größe und Maß. '.repeat(n % 50)}`;

/** Clients that post until they are stopped. They post texts, pictures, and forms with both; each post has a key. */
export class Rehearsal {
  readonly sent: Sent[] = [];
  readonly readIds = new Map<Name, string>();
  readonly #url: string;
  #isOver = false;
  #clients: Promise<unknown> | undefined;
  #count = 0;

  /** @param url of the service */
  constructor(url: string) {
    this.#url = url;
  }

  /** Starts the clients; settles when so many notes are acknowledged. */
  async post(count: number): Promise<void> {
    this.#clients ??= Promise.all([
      ...Array.from({ length: CLIENTS }, (_, n) => this.#client(n % 2 ? 'open' : 'locked')),
      this.#change(),
    ]);
    const end = this.sent.length + count;
    while (this.sent.length < end)
      await Promise.race([this.#clients, new Promise((go) => setTimeout(go, 5))]);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#clients;
  }

  async #client(feed: Name): Promise<void> {
    while (!this.#isOver) this.sent.push(await this.#send(feed, this.#count++));
  }

  /** Posts forms, replaces them by others, and removes them. */
  async #change(): Promise<void> {
    const client = this.#feed('changing');
    for (let n = 0; !this.#isOver; n += 1) {
      const { id } = await this.#send('changing', n * 3 + 2, `changed ${n}`);
      if (n % 3 === 0) continue;
      if (n % 3 === 1) {
        await client.putForm(id, [field('text', '![](other.png)'), this.#file('other.png', n, 900)]);
        continue;
      }
      const { notes } = (await client.list('?limit=100')).json;
      for (const note of notes)
        if (note.id === id || note.attached_to === id) await client.send('DELETE', `/notes/${note.id}`);
    }
  }

  #feed(name: Name, url = this.#url): FeedClient {
    return new FeedClient(url, name, FEEDS[name]);
  }

  #file(name: string, seed: number, size: number) {
    return file('file', name, 'image/png', picture('png', size, seed));
  }

  /** Posts a text, a picture, or a form with a text and two pictures. */
  async #send(feed: Name, n: number, key = `key ${n}`): Promise<Sent> {
    const headers = { 'idempotency-key': key, 'x-note-title': `Title ${n}`, 'x-note-tags': 'posted' };
    const [small, large] = [picture('png', 700 + n, n), picture('png', 40_000 + n, n)];
    const client = this.#feed(feed);
    const kind = n % 3;
    const text = `${textOf(n)}\n\n![first](a.png)\n\n![second](b.png)`;
    const reply =
      kind === 0
        ? await client.post(textOf(n), headers)
        : kind === 1
          ? await client.post(large, { ...headers, ...PNG, 'x-note-alt': `Picture ${n}` })
          : await client.postForm(
              [
                field('text', text),
                file('file', 'a.png', PNG['content-type'], small),
                file('file', 'b.png', PNG['content-type'], large),
              ],
              headers,
            );
    const { status, json } = reply;
    if (status !== 201) throw new Error(`A post was answered with ${status}: ${reply.text}`);
    this.readIds.set(feed, readIdIn(json.read_url));
    const files = new Map<string, Uint8Array>();
    if (kind === 0) files.set(json.file, Buffer.from(textOf(n)));
    if (kind === 1) files.set(json.file, large);
    if (kind === 2) {
      const [a, b] = json.attachments;
      files.set(a.file, small).set(b.file, large);
      files.set(
        json.file,
        Buffer.from(text.replace('(a.png)', `(${a.file})`).replace('(b.png)', `(${b.file})`)),
      );
    }
    return { feed, id: json.id, key, title: `Title ${n}`, files };
  }

  /**
   * Compares a restored service with what was acknowledged.
   * @param before what was sent before the backup began; the rest may be there
   */
  async compare(t: Test, url: string, before: readonly Sent[]): Promise<void> {
    const torn: string[] = [];
    for (const name of Object.keys(FEEDS) as Name[]) {
      const notes = await this.#notes(url, name);
      const link = (file: string) => `${url}/r/${this.readIds.get(name)}/${file}`;
      const mustBe = before.filter(({ feed }) => feed === name && name !== 'changing');
      const known = new Map(mustBe.flatMap(({ files }) => [...files]));
      for (const [file, bytes] of known)
        if (!(await ask(link(file))).bytes.equals(bytes)) torn.push(`${file} was acknowledged before`);
      for (const { id, key, title } of mustBe)
        if (
          !isDeepStrictEqual(
            [notes.get(id)?.title, notes.get(id)?.key, notes.get(id)?.tags],
            [title, key, ['posted']],
          )
        )
          torn.push(`${id} lacks what is beside it`);
      for (const note of notes.values()) {
        if (known.has(note.file)) continue;
        const { status, bytes } = await ask(link(note.file));
        if (status !== 200 || bytes.length !== note.size) torn.push(`${note.file} is ${status}`);
        if (name !== 'changing' && note.attached_to === undefined && note.key === undefined)
          torn.push(`${note.file} has no key`);
        for (const [, shown] of String(note.content ?? '').matchAll(/\]\(([^)]+\.png)\)/g))
          if ((await ask(link(shown!))).status !== 200)
            torn.push(`${note.file} shows ${shown}, which is gone`);
      }
    }
    t.same(torn, []);
    t.ok(before.length > 0);
    t.equal((await new FeedClient(url, 'locked').list()).status, 401, 'a protected feed still is');
    const again = before.find(({ feed, files }) => feed === 'locked' && files.size === 1);
    if (again) {
      const n = Number(again.key.slice(4));
      const replayed = await new Rehearsal(url).#send('locked', n);
      t.equal(replayed.id, again.id, 'a post that is sent again makes no second note');
    }
    t.equal((await this.#feed('open', url).post('goes on')).status, 201);
  }

  // biome-ignore lint/suspicious/noExplicitAny: members of an answer
  async #notes(url: string, name: Name): Promise<Map<string, any>> {
    const notes = new Map();
    for (let next: string | null = ''; next !== null; ) {
      const { json, status } = await this.#feed(name, url).list(`?limit=100${next && `&before=${next}`}`);
      if (status !== 200) throw new Error(`A list was answered with ${status}`);
      for (const note of json.notes) notes.set(note.id, note);
      next = json.next;
    }
    return notes;
  }
}

import { setTimeout as wait } from 'node:timers/promises';
import { readIdIn } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import { ask, type Reply } from '../support/service.ts';
import type { Container } from './cluster.ts';
import { type History, outcomeOf, type Read, type Write } from './history.ts';

/** How long a client waits for an answer, ms. */
const PATIENCE_MS = 8_000;
const PAUSE_MS = 40;
/** Attempts of a post with a key. */
const ATTEMPTS = 4;
const VALUE = /w\d+w/;
const ID = /\d{8}T\d{6}Z-[0-9a-f-]{36}/;
const PICTURE_BYTES = 3_000;
const PART_OF_PICTURES = 0.25;
const PROXIED = { 'x-forwarded-host': 'notes.example' };
/** Views with all notes of a feed that answer by name or read id, with how their answers are read. */
const LISTS = ['list', 'named list', 'rss'] as const;
const NOTES = ['note', 'named note', 'file'] as const;

type View = (typeof LISTS)[number] | (typeof NOTES)[number];

interface Note {
  readonly id: string;
  readonly file: string;
  readonly isPicture: boolean;
}

interface Feed {
  readonly name: string;
  readId: string;
  /** Those that were answered, and that nobody began to delete. */
  readonly notes: Note[];
  /** The last tag of each view. */
  readonly tags: Map<View, string>;
  /** What a view showed under a tag, which containers share. */
  readonly shown: Map<string, Read['values']>;
}

export interface ClientsOptions {
  readonly containers: readonly Container[];
  readonly history: History;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly feeds: readonly string[];
}

let values = 0;

/** Clients that write and read until they are stopped, each through any container. */
export class Clients {
  readonly #options: ClientsOptions;
  readonly #feeds: Feed[];
  readonly #running: Promise<void>[] = [];
  #isWriting = true;
  #isReading = true;

  constructor(options: ClientsOptions) {
    this.#options = options;
    this.#feeds = options.feeds.map((name) => ({
      name,
      readId: '',
      notes: [],
      tags: new Map(),
      shown: new Map(),
    }));
  }

  /** Makes the feeds, then begins. */
  async start(writers: number, readers: number): Promise<void> {
    for (const feed of this.#feeds) for (let n = 0; n < 4; n += 1) await this.#post(feed, n === 3);
    for (let n = 0; n < writers; n += 1)
      this.#running.push(this.#loop(() => this.#isWriting && this.#write()));
    for (let n = 0; n < readers; n += 1)
      this.#running.push(this.#loop(() => this.#isReading && this.#read()));
  }

  stopWriting(): void {
    this.#isWriting = false;
  }

  /** Waits for the last answers, then reads every view of all containers once more. */
  async stop(): Promise<void> {
    this.#isWriting = false;
    this.#isReading = false;
    await Promise.all(this.#running);
    await this.readAll(this.#options.containers);
  }

  /** Reads every list of these containers, and so every note. */
  readAll(containers: readonly Container[]): Promise<void> {
    const reading = Promise.all(
      containers.flatMap((container) =>
        this.#feeds.flatMap((feed) => LISTS.map((view) => this.#readList(container, feed, view))),
      ),
    ).then(() => {});
    this.#running.push(reading);
    return reading;
  }

  /** Writes through these containers: an edit of a note of each feed. */
  async writeThrough(containers: readonly Container[]): Promise<void> {
    await Promise.all(
      this.#feeds.map((feed) => {
        const note = feed.notes.find(({ isPicture }) => !isPicture);
        return note && this.#edit(oneOf(containers, this.#options.random), feed, note, false);
      }),
    );
  }

  async #loop(act: () => Promise<unknown> | false): Promise<void> {
    for (let running = act(); running; running = act()) {
      await running;
      await wait(PAUSE_MS * this.#options.random());
    }
  }

  get #container(): Container {
    return oneOf(this.#options.containers, this.#options.random);
  }

  async #write(): Promise<void> {
    const { random } = this.#options;
    // Some feeds are quiet: what a container writes itself renews what it shows.
    const feed = oneOf(this.#feeds, () => random() ** 3);
    const note = oneOf(feed.notes, random);
    const chance = random();
    if (note === undefined || chance < 0.35) return this.#post(feed, random() < PART_OF_PICTURES);
    if (chance < 0.75 && !note.isPicture) return this.#edit(this.#container, feed, note, random() < 0.4);
    if (chance < 0.97 && feed.notes.length < CAP_FOR_DELETING) return;
    return this.#delete(feed, note);
  }

  /** A post, and with a key the same again until it is answered. */
  async #post(feed: Feed, isPicture: boolean): Promise<void> {
    const value = nextValue();
    const isKeyed = this.#options.random() < 0.6;
    const headers: Record<string, string> = {
      'content-type': isPicture ? 'image/png' : 'text/markdown',
      ...(isPicture && { 'x-note-alt': value }),
      ...(isKeyed && { 'idempotency-key': value }),
    };
    const bytes = Buffer.concat([picture('png', PICTURE_BYTES), Buffer.from(value)]);
    const body = isPicture ? bytes : value;
    for (let attempt = 0; attempt < (isKeyed ? ATTEMPTS : 1); attempt += 1) {
      const container = this.#container;
      const about = { kind: 'post', feed: feed.name, value, medium: isPicture ? 'picture' : 'text' } as const;
      const write = await this.#sent(container, `/${feed.name}`, { method: 'POST', headers, body }, about);
      const { json } = write.reply ?? {};
      if (write.outcome === 'ok') {
        feed.readId = readIdIn(json.read_url);
        feed.notes.push({ id: json.id, file: json.file, isPicture });
      }
      if (write.outcome !== 'unknown') return;
      await wait(100 * this.#options.random());
    }
  }

  async #edit(container: Container, feed: Feed, note: Note, isConditional: boolean): Promise<void> {
    const path = `/api/v1/feeds/${feed.name}/notes/${note.id}`;
    const before = isConditional ? await this.#readNote(container, feed, note, 'named note') : undefined;
    const tag = before?.reply?.headers.get('etag');
    const replaces = before?.read?.values.get(note.id) ?? undefined;
    const value = nextValue();
    const headers: Record<string, string> = {
      'content-type': 'text/markdown',
      ...(replaces !== undefined && tag && { 'if-match': tag }),
    };
    // Somebody else may be quicker.
    if (isConditional) await wait(30 * this.#options.random());
    const about = { kind: 'edit', feed: feed.name, note: note.id, value, medium: 'text', replaces } as const;
    const { reply, ...write } = await this.#sent(
      container,
      path,
      { method: 'PUT', headers, body: value },
      about,
    );
    if (reply?.status === 404) this.#saw(container, write, feed, 'write', new Map([[note.id, null]]));
  }

  async #delete(feed: Feed, note: Note): Promise<void> {
    const container = this.#container;
    // Some go on with it.
    if (this.#options.random() < 0.7) feed.notes.splice(feed.notes.indexOf(note), 1);
    const path = `/api/v1/feeds/${feed.name}/notes/${note.id}`;
    const about = { kind: 'deletion', feed: feed.name, note: note.id } as const;
    const { reply, ...write } = await this.#sent(container, path, { method: 'DELETE' }, about);
    if (reply?.status === 404) this.#saw(container, write, feed, 'write', new Map([[note.id, null]]));
    if (reply?.status === 404 || reply?.status === 204) {
      const index = feed.notes.indexOf(note);
      if (index >= 0) feed.notes.splice(index, 1);
    }
  }

  async #read(): Promise<unknown> {
    const { random } = this.#options;
    const feed = oneOf(this.#feeds, random);
    const note = oneOf(feed.notes, random);
    if (note === undefined || random() < 0.6)
      return this.#readList(this.#container, feed, oneOf(LISTS, random));
    return this.#readNote(this.#container, feed, note, oneOf(NOTES, random));
  }

  async #readList(container: Container, feed: Feed, view: (typeof LISTS)[number]): Promise<void> {
    const { readId, tags, shown, name } = feed;
    const path = {
      list: `/api/v1/read/${readId}/notes?limit=100`,
      'named list': `/api/v1/feeds/${name}/notes?limit=100`,
      rss: `/r/${readId}/feed.xml`,
    }[view];
    const tag = tags.get(view);
    const headers: Record<string, string> = tag === undefined ? {} : { 'if-none-match': tag };
    const start = container.starts;
    const { reply, ...span } = await this.#ask(container, path, { headers });
    if (!reply) return;
    const seen = reply.headers.get('etag') ?? '';
    let values = shown.get(`${view} ${seen}`);
    if (reply.status === 200) {
      values = view === 'rss' ? valuesOfRss(reply.text) : valuesOfList(reply.json.notes);
      tags.set(view, seen);
      shown.set(`${view} ${seen}`, values);
    }
    const isShown = values !== undefined && (reply.status === 200 || reply.status === 304);
    const about = { kind: 'read', feed: name, view, start, values: isShown ? values! : new Map() } as const;
    this.#options.history.add({ ...span, ...about, isWhole: isShown });
  }

  async #readNote(container: Container, feed: Feed, note: Note, view: (typeof NOTES)[number]) {
    const path = {
      note: `/api/v1/read/${feed.readId}/notes/${note.id}`,
      'named note': `/api/v1/feeds/${feed.name}/notes/${note.id}`,
      file: `/r/${feed.readId}/${note.file}`,
    }[view];
    const start = container.starts;
    const { reply, ...span } = await this.#ask(container, path);
    if (!reply) return undefined;
    const values = new Map<string, string | null>();
    if (reply.status === 404) values.set(note.id, null);
    if (reply.status === 200)
      values.set(note.id, view === 'file' ? VALUE.exec(reply.text)![0] : textOf(reply.json));
    return { reply, read: this.#saw(container, span, feed, view, values, start) };
  }

  #saw(
    container: Container,
    span: Omit<Read, 'kind' | 'feed' | 'view' | 'values' | 'isWhole' | 'start'>,
    { name }: Feed,
    view: string,
    values: Read['values'],
    start = container.starts,
  ): Read {
    const { invokedAt, completedAt, status, code } = span;
    const about = { container: container.number, invokedAt, completedAt, status, code };
    return this.#options.history.add({
      kind: 'read',
      feed: name,
      view,
      start,
      values,
      isWhole: false,
      ...about,
    });
  }

  /** Sends a write and records it. */
  async #sent(
    container: Container,
    path: string,
    init: RequestInit,
    about: Pick<Write, 'kind' | 'feed' | 'note' | 'value' | 'medium' | 'replaces'>,
  ): Promise<Write & { readonly reply: Reply | undefined }> {
    const { reply, ...span } = await this.#ask(container, path, init);
    const outcome = outcomeOf(span.status);
    const note = outcome === 'ok' ? (about.note ?? reply!.json.id) : about.note;
    const write = this.#options.history.add({ ...about, ...span, note, outcome });
    return { ...write, reply };
  }

  async #ask(container: Container, path: string, init: RequestInit = {}) {
    const invokedAt = performance.now();
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const headers = { ...PROXIED, ...(init.headers as Record<string, string>) };
    const reply = await ask(container.url + path, { ...init, headers, signal }).catch(() => undefined);
    const { status = 0, json } = reply ?? {};
    const code: string | undefined = status >= 400 ? json?.code : undefined;
    return { container: container.number, invokedAt, completedAt: performance.now(), status, code, reply };
  }
}

/** A feed with fewer notes than this gets fewer deletions, so that it does not run empty. */
const CAP_FOR_DELETING = 24;

function nextValue(): string {
  values += 1;
  return `w${values}w`;
}

function oneOf<T>(some: readonly T[], random: () => number): T {
  return some[Math.floor(random() * some.length)] as T;
}

interface ShownNote {
  readonly id: string;
  readonly content?: string;
  readonly alt?: string;
}

function textOf({ content, alt }: ShownNote): string {
  return content ?? alt ?? '';
}

function valuesOfList(notes: readonly ShownNote[]): Map<string, string> {
  return new Map(notes.map((note) => [note.id, textOf(note)]));
}

function valuesOfRss(text: string): Map<string, string> {
  const items = text.split('<item>').slice(1);
  return new Map(items.map((item) => [ID.exec(item)![0], VALUE.exec(item)![0]]));
}

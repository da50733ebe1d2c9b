import type { Reply } from '../support/service.ts';
import { ask } from '../support/service.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { fileOf, MEDIA, type Model, type ModelFeed, type ModelNote, shown, textOf } from './model.ts';

/** The service under test, in a process of its own that may be stopped and killed. */
export class ServiceClient {
  readonly #launch: () => Promise<ServiceProcess>;
  #process: ServiceProcess;
  /** Added to every feed's name and chosen read id, so that each run starts with nothing. */
  prefix = '';

  private constructor(launch: () => Promise<ServiceProcess>, process: ServiceProcess) {
    this.#launch = launch;
    this.#process = process;
  }

  static async start(launch: () => Promise<ServiceProcess>): Promise<ServiceClient> {
    return new ServiceClient(launch, await launch());
  }

  /** Ends the process with a signal and starts another one on the same data. */
  async restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#process.kill(signal);
    this.#process = await this.#launch();
  }

  /** Answers come as they are: what changes with every operation is not worth compressing. */
  ask(path: string, init: RequestInit = {}): Promise<Reply> {
    const headers = { 'accept-encoding': 'identity', ...(init.headers as object) };
    return ask(this.#process.url + path, { ...init, headers });
  }

  /** A request about a feed, with its password unless that is empty. */
  askAbout(name: string, password: string, path: string, init: RequestInit = {}): Promise<Reply> {
    const headers = { ...(init.headers as object), ...(password !== '' && { 'x-feed-password': password }) };
    return this.ask(`/api/v1/feeds/${this.prefix}${name}${path}`, { ...init, headers });
  }

  /** Throws unless the records and lists of all feeds are what the model says. */
  async check(model: Model, names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.#checkFeed(name, model.feeds.get(name))));
  }

  /** As `check`, for everything that readers see as well: files, RSS, and the links of old. */
  async checkAll(model: Model, names: readonly string[]): Promise<void> {
    await this.check(model, names);
    for (const feed of model.feeds.values()) await this.#checkReaders(feed);
    for (const readId of model.left) await this.#checkEmpty(readId);
  }

  async #checkFeed(name: string, feed: ModelFeed | undefined): Promise<void> {
    const password = feed?.password ?? '';
    const [record, list] = await Promise.all([
      this.askAbout(name, password, ''),
      this.askAbout(name, password, '/notes?limit=100'),
    ]);
    if (feed === undefined) {
      same([record.status, list.json], [404, { notes: [], next: null }], `${name} is absent`);
      return;
    }
    const { readId, title, description, showSender, listed, image, notes } = feed;
    const base = `${this.#process.url}/r/${readId}`;
    const hasImage = image !== '' && notes.length > 0;
    same(
      record.json,
      {
        name: this.prefix + name,
        title,
        description,
        show_sender: showSender,
        listed,
        image_url: hasImage ? `${base}/${image}` : null,
        protected: password !== '',
        read_url: notes.length > 0 ? `${base}/feed.xml` : null,
        keep: null,
      },
      `the record of ${name}`,
    );
    const addressed = notes.map((note) => ({
      ...shown(note, feed),
      file_url: `${base}/${fileOf(note)}`,
      url: `${this.#process.url}/${this.prefix}${name}/${note.id}`,
    }));
    same(list.json?.notes?.map(undated), addressed.slice(0, 100), `the notes of ${name}`);
  }

  async #checkReaders(feed: ModelFeed): Promise<void> {
    const { readId, title, description, notes } = feed;
    const [record, list, rss, jsonFeed] = await Promise.all([
      this.ask(`/api/v1/read/${readId}`),
      this.ask(`/api/v1/read/${readId}/notes?limit=100`),
      this.ask(`/r/${readId}/feed.xml`),
      this.ask(`/r/${readId}/feed.json`),
    ]);
    same([record.json.title, record.json.description], [title, description], 'what readers see of a feed');
    const ids = notes.map(({ id }) => id);
    same(
      list.json.notes.map(({ id }: ModelNote) => id),
      ids.slice(0, 100),
      'the list of readers',
    );
    const shownAlone = notes.filter((note) => textOf(note, feed) === undefined);
    const uuids = shownAlone.slice(0, 50).map(({ id }) => id.slice(-36));
    same(rss.text.match(/(?<=urn:uuid:)[0-9a-f-]{36}/g) ?? [], uuids, 'the items of RSS');
    same(jsonFeed.json.items.length, uuids.length, 'the items of JSON Feed');
    for (const note of notes) await this.checkFile(readId, note);
  }

  /** Throws unless the file of a note is what was posted. */
  async checkFile(readId: string, note: ModelNote): Promise<void> {
    const file = await this.ask(`/r/${readId}/${fileOf(note)}`);
    const type = file.headers.get('content-type')?.split(';')[0];
    same([file.status, type], [200, MEDIA[note.type]], 'a file');
    if (!file.bytes.equals(note.bytes)) throw new Error(`${fileOf(note)} has other bytes than were posted`);
  }

  async #checkEmpty(readId: string): Promise<void> {
    const { status, json } = await this.ask(`/api/v1/read/${readId}/notes`);
    same([status, json], [200, { notes: [], next: null }], 'an old read link');
    const record = await this.ask(`/api/v1/read/${readId}`);
    same(record.json, { title: '', description: '', image_url: null }, 'the feed of an old read link');
  }
}

/** Throws when two JSON values differ. */
export function same(found: unknown, expected: unknown, what: string): void {
  const [left, right] = [sorted(found), sorted(expected)];
  if (left !== right) throw new Error(`${what} should be\n${right}\nbut is\n${left}`);
}

/** A note as it was answered, without its date. */
// biome-ignore lint/suspicious/noExplicitAny: whatever was answered
export function undated({ created_at: _, ...note }: any): unknown {
  return note;
}

/** JSON with the members of every object in order. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { FeedName, NoteFile } from '../../../src/feeds/names.ts';
import type { Position } from '../../../src/feeds/order.ts';
import { onRefusal } from '../../../src/refusals.ts';
import { parseQuery } from '../../../src/search/query.ts';
import { indexOfFolder } from '../../../src/storage/index-place.ts';
import { NoteIndexer } from '../../../src/storage/search/note-indexer.ts';
import { eventually } from '../../support/eventually.ts';
import { dataFolder } from '../files-support.ts';

/** Every word is in every so many notes of a feed. */
const WORDS = Array.from({ length: 24 }, (_, n) => ({ word: `word${n}x`, every: n + 1 }));
export const FEEDS = ['secret-feed-one', 'secret-feed-two'] as FeedName[];

/** A data folder whose notes are placed by hand, and an indexer of it at a time. */
export class IndexedFolder {
  readonly dir: string;
  readonly file: string;
  readonly lines: string[] = [];
  readonly #notes = new Map<FeedName, Map<NoteFile, number>>();
  #indexer: NoteIndexer | undefined;

  private constructor(dir: string) {
    this.dir = dir;
    this.file = indexOfFolder(dir);
  }

  static async make(t: Test, { notes = 60, dir = '' } = {}): Promise<IndexedFolder> {
    const folder = new IndexedFolder(dir || (await dataFolder(t)));
    t.teardown(() => folder.stop());
    for (const feed of FEEDS) {
      await mkdir(join(folder.dir, feed));
      for (let n = 0; n < notes; n += 1) await folder.put(feed, n);
    }
    return folder;
  }

  start(idleMs?: number): NoteIndexer {
    const log = (message: string, fields: object = {}) => {
      const { err, ...others } = fields as { err?: Error };
      for (let error: unknown = err; error instanceof Error; error = error.cause)
        message += ` ${error.stack}`;
      this.lines.push(message + JSON.stringify(others));
    };
    this.#indexer = new NoteIndexer({
      file: this.file,
      source: { kind: 'files', dir: this.dir },
      owner: undefined,
      log: { warn: log, error: log },
      ...(idleMs === undefined ? {} : { idleMs }),
    });
    return this.#indexer;
  }

  async stop(): Promise<void> {
    await this.#indexer?.close();
    this.#indexer = undefined;
  }

  /** Stores a note and tells the indexer, if there is one. */
  async put(feed: FeedName, n: number, text = textOf(n)): Promise<void> {
    const file = fileOf(n);
    await writeFile(join(this.dir, feed, file), text);
    const notes = this.#notes.get(feed) ?? new Map();
    this.#notes.set(feed, notes.set(file, n));
    this.#indexer?.changed(feed, [file]);
  }

  async remove(feed: FeedName, n: number): Promise<void> {
    await rm(join(this.dir, feed, fileOf(n)));
    this.#notes.get(feed)!.delete(fileOf(n));
    this.#indexer?.changed(feed, [fileOf(n)]);
  }

  /** The files that the index has under a query, newest first; undefined while the index lacks changes. */
  async found(feed: FeedName, q: string): Promise<NoteFile[] | undefined> {
    const files: NoteFile[] = [];
    for (let before: Position | undefined; ; ) {
      const search = { query: parseQuery(q), limit: 100, before };
      const page = await onRefusal(
        () => this.#indexer!.find(feed, search),
        (refusal) => {
          if (refusal.code !== 'busy') throw refusal;
        },
      );
      if (!page?.isCurrent) return undefined;
      files.push(...page.positions.map(({ file }) => file));
      if (!page.next) return files;
      before = page.next;
    }
  }

  /** Whether every word is found where it is, and nowhere else. */
  async isRight(): Promise<boolean> {
    for (const feed of FEEDS)
      for (const { word, every } of WORDS) {
        const there = [...this.#notes.get(feed)!].filter(([, n]) => n % every === 0).map(([file]) => file);
        const found = await this.found(feed, word);
        if (found?.toSorted().join() !== there.sort().join()) return false;
      }
    return true;
  }

  async mustBecomeRight(t: Test, what: string): Promise<void> {
    t.ok(await eventually(() => this.isRight()), what);
    for (const line of this.lines)
      for (const secret of [...FEEDS, this.dir]) if (line.includes(secret)) t.fail(`in the log: ${line}`);
  }
}

function fileOf(n: number): NoteFile {
  return `20200101T00${String(Math.floor(n / 60) % 60).padStart(2, '0')}${String(n % 60).padStart(2, '0')}Z-n${n}.md` as NoteFile;
}

function textOf(n: number): string {
  return WORDS.filter(({ every }) => n % every === 0)
    .map(({ word }) => word)
    .join(' ');
}

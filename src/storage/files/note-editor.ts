import { join } from 'node:path';
import { type NoteId, noteFile } from '../../feeds/names.ts';
import type { NoteType } from '../../feeds/note-types.ts';
import { NO_META, serializeMeta } from '../metadata.ts';
import { limitsNow, refuseBeyond, refusePicture } from '../refused-writes.ts';
import type { AllowedFeed, FeedLimits, NewNote, Note, NoteMeta, Replacement } from '../storage.ts';
import type { Change } from './durable.ts';
import { type Entry, isDatedByFile } from './entry.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { metaFile } from './names.ts';
import { entriesOf, partsOf } from './note-files.ts';
import { statFile } from './read-file.ts';
import { readMetaFile } from './read-metadata.ts';
import { settingsChange } from './settings-change.ts';
import type { Stamp } from './stamp.ts';
import { forgetGone, type WriteParts } from './write-parts.ts';

/** Changes and removes notes. Of one feed, one change at a time. */
export class NoteEditor {
  readonly #parts: WriteParts;

  constructor(parts: WriteParts) {
    this.#parts = parts;
  }

  /** See `Storage.replace`. */
  replace(
    allowed: AllowedFeed,
    id: NoteId,
    { type, bytes, sha256, added = [] }: Replacement,
    limits: FeedLimits,
  ): Promise<Note | undefined> {
    return this.#edit(allowed, { id }, async (feed, entry) => {
      if (entry.type !== type) return undefined;
      const limitsOfFeed = limitsNow(limits, feed.files.license?.text, this.#parts.licenseCounts);
      refusePicture(type, limitsOfFeed);
      // No post is under way: the change is alone with the feed.
      refuseBeyond({ notes: added, limits: limitsOfFeed }, feed.stored);
      const dating = await this.#dating(feed, entry);
      const changes = [...dating, { name: entry.file, bytes }];
      const stamps = await this.#write(feed, entry, changes, added);
      if (!stamps) return undefined;
      entry.stamp = stamps.at(-1)!;
      entry.sha256 = sha256;
      if (dating.length > 0) entry.meta = stamps[0];
      return this.#loadChanged(feed, entry);
    });
  }

  /** See `Storage.setMeta`. */
  setMeta(allowed: AllowedFeed, id: NoteId, change: (meta: NoteMeta) => NoteMeta): Promise<Note | undefined> {
    return this.#edit(allowed, { id }, async (feed, entry) => {
      const { meta, ...beside } = await this.#readMeta(feed, entry);
      const json = serializeMeta(change(meta), beside);
      const bytes = json === undefined ? undefined : Buffer.from(json);
      const stamps = await this.#write(feed, entry, [{ name: metaFile(entry.file), bytes }]);
      if (!stamps) return undefined;
      entry.meta = stamps[0];
      return this.#loadChanged(feed, entry);
    });
  }

  /** See `Storage.remove`. After a crash the note is gone or there; metadata alone is cleared away at the start. */
  async remove(allowed: AllowedFeed, id: NoteId, type?: NoteType): Promise<boolean> {
    const { index, reader } = this.#parts;
    const removed = await this.#edit(allowed, { id, type }, async (feed, entry) => {
      const { settings } = feed.files;
      const isTitleImage = settings.image === entry.file;
      const changes: Change[] = [entry.file, metaFile(entry.file)].map((file) => ({
        name: file,
        bytes: undefined,
      }));
      const cleared = { ...settings, image: undefined };
      if (isTitleImage) changes.push(await settingsChange(join(this.#parts.dir, feed.name), cleared));
      if (!(await this.#write(feed, entry, changes))) return undefined;
      feed.remove(entry.file);
      reader.forget(entry);
      if (isTitleImage) index.setFiles(feed, { ...feed.files, settings: cleared });
      else index.touch(feed);
      return true;
    });
    return removed ?? false;
  }

  /** Undefined when there is no such note, or its file was taken away by hand. */
  #edit<T>(
    allowed: AllowedFeed,
    { id, type }: { readonly id: NoteId; readonly type?: NoteType | undefined },
    work: (feed: IndexedFeed, entry: Entry) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const { dir, index, turns } = this.#parts;
    return turns.alone(allowed.name, async () => {
      const feed = index.find(allowed);
      const entry = type ? feed?.entry(noteFile(id, type)) : feed?.entryOfId(id);
      if (!feed || !entry || !(await statFile(join(dir, feed.name, entry.file)))) return undefined;
      return work(feed, entry);
    });
  }

  /**
   * Returns the new states of the files changed; undefined when the feed's folder is gone. What was read meanwhile may
   * have been taken back, so it is forgotten.
   */
  async #write(
    feed: IndexedFeed,
    entry: Entry,
    changes: readonly Change[],
    added: readonly NewNote[] = [],
  ): Promise<(Stamp | undefined)[] | undefined> {
    const { dir, reader, writer } = this.#parts;
    // Nobody may see the text without the pictures that it shows, so until all are there it stays as it is.
    if (added.length > 0) await reader.hold(feed, entry);
    const parts = added.map(partsOf);
    const work = writer.change(join(dir, feed.name), changes, parts.flat());
    const files = [entry.file, ...added.map(({ id, type }) => noteFile(id, type))];
    for (const file of files) feed.pending.set(file, work);
    try {
      const stamps = await work;
      for (const one of entriesOf(added, parts, stamps)) feed.put(one);
      return stamps.slice(-changes.length);
    } catch (error) {
      return await forgetGone(this.#parts, feed, error);
    } finally {
      for (const file of files) feed.pending.delete(file);
      reader.forget(entry);
      feed.tags?.changed(entry);
    }
  }

  async #loadChanged(feed: IndexedFeed, entry: Entry): Promise<Note | undefined> {
    this.#parts.index.touch(feed);
    return this.#parts.reader.load(feed, entry);
  }

  async #readMeta(feed: IndexedFeed, entry: Entry) {
    return (await readMetaFile(join(this.#parts.dir, feed.name), entry.file)) ?? NO_META;
  }

  /** A note dated by its file's time keeps that date when the file changes: from then on its metadata says it. */
  async #dating(feed: IndexedFeed, entry: Entry): Promise<Change[]> {
    if (!isDatedByFile(entry.id)) return [];
    const { meta, created, others } = await this.#readMeta(feed, entry);
    if (created !== undefined) return [];
    const json = serializeMeta(meta, { created: entry.createdAt, others })!;
    return [{ name: metaFile(entry.file), bytes: Buffer.from(json) }];
  }
}

import { join } from 'node:path';
import { type NoteId, noteFile } from '../../feeds/names.ts';
import type { NoteType } from '../../feeds/note-types.ts';
import { NO_META, serializeMeta } from '../metadata.ts';
import { limitsNow, refuseBeyond, refusePicture } from '../refused-writes.ts';
import type { AllowedFeed, FeedLimits, NoteMeta, Replacement } from '../storage.ts';
import type { Change } from './durable.ts';
import { type Entry, isDatedByFile } from './entry.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { metaFile } from './names.ts';
import { entriesOf, partsOf, settingsChange } from './note-files.ts';
import { statFile } from './read-file.ts';
import { readMetaFile } from './read-metadata.ts';
import { changeFeed, type WriteParts } from './steps.ts';

/** A note as it is after a change. */
export interface ChangedNote {
  readonly feed: IndexedFeed;
  readonly entry: Entry;
}

/** Changes and removes notes. */
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
  ): Promise<ChangedNote | undefined> {
    const { index, isLicenseValid, writer } = this.#parts;
    return this.#edit(allowed, { id }, async (feed, entry) => {
      if (entry.type !== type) return undefined;
      const limitsOfFeed = limitsNow(limits, feed.files.license?.text, isLicenseValid);
      refusePicture(type, limitsOfFeed);
      refuseBeyond({ notes: added, limits: limitsOfFeed }, feed.stored);
      const dating = await this.#dating(feed, entry);
      const parts = added.map(partsOf);
      const changes = [...dating, { name: entry.file, bytes }];
      const stamps = await writer.change(this.#folder(feed), changes, parts.flat());
      const stamp = stamps.at(-1)!;
      const meta = dating.length > 0 ? stamps.at(-2) : entry.meta;
      const changed = { ...entry, stamp, meta, sha256 };
      index.apply(feed, { put: [...entriesOf(added, parts, stamps), changed] });
      return { feed, entry: changed };
    });
  }

  /** See `Storage.setMeta`. */
  setMeta(
    allowed: AllowedFeed,
    id: NoteId,
    change: (meta: NoteMeta) => NoteMeta,
  ): Promise<ChangedNote | undefined> {
    return this.#edit(allowed, { id }, async (feed, entry) => {
      const { meta, ...beside } = await this.#readMeta(feed, entry);
      const json = serializeMeta(change(meta), beside);
      const bytes = json === undefined ? undefined : Buffer.from(json);
      const changes = [{ name: metaFile(entry.file), bytes }];
      const [stamp] = await this.#parts.writer.change(this.#folder(feed), changes);
      const changed = { ...entry, meta: stamp };
      this.#parts.index.apply(feed, { put: [changed] });
      return { feed, entry: changed };
    });
  }

  /** See `Storage.remove`. After a crash the note is gone or there; metadata alone is cleared away at the start. */
  async remove(allowed: AllowedFeed, id: NoteId, type?: NoteType): Promise<boolean> {
    const removed = await this.#edit(allowed, { id, type }, async (feed, { file }) => {
      const { settings } = feed.files;
      const changes: Change[] = [file, metaFile(file)].map((name) => ({ name, bytes: undefined }));
      const isTitleImage = settings.image === file;
      const cleared = { ...settings, image: undefined };
      if (isTitleImage) changes.push(await settingsChange(this.#folder(feed), cleared));
      await this.#parts.writer.change(this.#folder(feed), changes);
      const files = isTitleImage ? { ...feed.files, settings: cleared } : undefined;
      this.#parts.index.apply(feed, { gone: [file], files });
      return true;
    });
    return removed ?? false;
  }

  /** Undefined also if there is no such note, or its file was taken away by hand. */
  #edit<T>(
    allowed: AllowedFeed,
    { id, type }: { readonly id: NoteId; readonly type?: NoteType | undefined },
    work: (feed: IndexedFeed, entry: Entry) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    return changeFeed(this.#parts, allowed, async (feed) => {
      const entry = type ? feed.notes.get(noteFile(id, type)) : feed.entryOfId(id);
      if (!entry || !(await statFile(join(this.#folder(feed), entry.file)))) return undefined;
      return work(feed, entry);
    });
  }

  async #readMeta(feed: IndexedFeed, entry: Entry) {
    return (await readMetaFile(this.#folder(feed), entry.file)) ?? NO_META;
  }

  /** A note dated by its file's time keeps that date when the file changes: from then on its metadata says it. */
  async #dating(feed: IndexedFeed, entry: Entry): Promise<Change[]> {
    if (!isDatedByFile(entry.id)) return [];
    const { meta, created, others } = await this.#readMeta(feed, entry);
    if (created !== undefined) return [];
    const json = serializeMeta(meta, { created: entry.createdAt, others })!;
    return [{ name: metaFile(entry.file), bytes: Buffer.from(json) }];
  }

  #folder(feed: IndexedFeed): string {
    return join(this.#parts.dir, feed.name);
  }
}

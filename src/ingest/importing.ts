import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../access/access.ts';
import type { Feed } from '../feeds/feed.ts';
import { dateOfId, datePrefixOfId } from '../feeds/ids.ts';
import { expiryOf, noteKey } from '../feeds/keeping.ts';
import { noteLimit } from '../feeds/limits.ts';
import { noteFile, parseNoteFile } from '../feeds/names.ts';
import type { NewNote, NoteMeta } from '../feeds/note.ts';
import { type NoteType, typeName } from '../feeds/note-types.ts';
import { wrongFormat } from '../feeds/picture-bytes.ts';
import { validTags } from '../feeds/tags.ts';
import { ALT_LENGTH, oneLine, pictureName, refuseAlt, TITLE_LENGTH } from '../feeds/text.ts';
import { existing, Refusal } from '../refusals.ts';
import { SETTINGS_FILE } from '../storage/files/names.ts';
import {
  type JsonObject,
  metaIn,
  NO_META,
  parseObject,
  type StoredMeta,
  settingsIn,
} from '../storage/metadata.ts';
import type { OperatorRecords } from '../storage/operator-records.ts';
import type { Storage, Written } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { WorkerPool } from '../worker-pool.ts';
import { type Import, toFeed } from '../writing/command.ts';
import type { ImportOutcome } from '../writing/decide.ts';
import { feedEtag } from '../writing/etags.ts';
import { type FeedLimits, refusePicture } from '../writing/limits.ts';
import { refuseBlocked } from './blocks.ts';
import { changeFeed } from './change-feed.ts';
import { DESCRIPTION_LENGTH } from './feed-settings.ts';
import type { FeedZip, ZippedFile } from './feed-zip.ts';
import type { AdmittedPost, Posting } from './post.ts';
import { inspectPicture, pixelsOf, refuseBlank } from './preparation.ts';

/** The largest metadata file that is read, bytes: more than any post can bring. */
const MAX_META_BYTES = 16 * 1024;
/** Notes that are stored together: so many, or fewer with so many bytes, or one with more. */
const [BATCH_NOTES, BATCH_BYTES] = [64, 1024 * 1024];
/** Time for files in one turn of the event loop, ms. */
const TURN_MS = 5;
/** Refused files that the answer names; the others are counted. */
const MAX_NAMED = 1_000;
/** A name or an e-mail address. */
const SENDER_LENGTH = 320;

interface ImportingParts {
  readonly storage: Pick<Storage, 'feed' | 'stat' | 'write'> & {
    readonly records: Pick<OperatorRecords, 'find'>;
  };
  readonly posting: Pick<Posting, 'import' | 'target'>;
  readonly checks: WorkerPool;
  readonly limits: FeedLimits;
  readonly maxImageBytes: number;
  /** Whether a sender in a zip counts: not if people sign in, because it says who did. */
  readonly takesSenders: boolean;
  readonly record: RecordEvent;
}

/** The result of an import: how many files of the zip were stored or skipped, and which were refused. */
interface Imported {
  imported: number;
  skipped: number;
  /** The first of those that were refused. */
  readonly refused: { readonly file: string; readonly error: string; readonly code: string }[];
  refused_count: number;
}

/** Stores the notes of zips, each of them checked as that of a post. */
export class Importing {
  readonly #parts: ImportingParts;

  constructor(parts: ImportingParts) {
    this.#parts = parts;
  }

  /**
   * Stores what is not there yet, in the order of the zip, so after a failure or a crash a second import does the rest.
   * @param limits of the feed as known before; the storage decides
   * @throws Refusal as a post that brings no notes; `not_found` if the feed is deleted or protected meanwhile
   */
  async import(admitted: AdmittedPost, zip: FeedZip, limits: FeedLimits, caller: Caller): Promise<Imported> {
    const run = new ImportRun(this.#parts, admitted, limits, caller);
    let begunAt = performance.now();
    try {
      for await (const file of zip.files()) {
        if ('refusal' in file) run.refuse(file.name, file.refusal);
        else await run.take(file);
        // Files that are refused or skipped may need no turn of the event loop by themselves.
        if (performance.now() - begunAt < TURN_MS) continue;
        await nextTurn();
        begunAt = performance.now();
      }
      return await run.finish();
    } finally {
      // What was stored before a failure stays.
      run.record();
    }
  }
}

/** One import. */
class ImportRun {
  readonly #parts: ImportingParts;
  readonly #admitted: AdmittedPost;
  readonly #limits: FeedLimits;
  readonly #caller: Caller;
  readonly #result: Imported = { imported: 0, skipped: 0, refused: [], refused_count: 0 };
  /** How many of the skipped notes have expired: the feed does not have these. */
  #expired = 0;
  #feed: Feed | undefined;
  #target: Import['target'] | undefined;
  #settings: ZippedFile | undefined;
  #batch: NewNote[] = [];
  /** Their bytes, which other threads read without a copy. Used again, because dropped buffers are collected late. */
  #memory = new SharedArrayBuffer(BATCH_BYTES);
  #batchBytes = 0;

  constructor(parts: ImportingParts, admitted: AdmittedPost, limits: FeedLimits, caller: Caller) {
    this.#parts = parts;
    this.#admitted = admitted;
    this.#limits = limits;
    this.#caller = caller;
  }

  refuse(file: string, { message, code }: Pick<Refusal, 'message' | 'code'>): void {
    this.#result.refused_count += 1;
    if (this.#result.refused_count <= MAX_NAMED) this.#result.refused.push({ file, error: message, code });
  }

  async take(file: ZippedFile): Promise<void> {
    if (file.name === SETTINGS_FILE) {
      this.#settings = file;
      return;
    }
    // Before this file is read, because it is not to blame if the notes before it are refused.
    if (this.#batchBytes + file.size > this.#memory.byteLength) await this.#store();
    const note = await this.#unlessRefused(file.name, () => this.#noteOf(file));
    if (note === 'skipped') this.#result.skipped += 1;
    if (note === undefined || note === 'skipped') return;
    this.#batch.push(note);
    this.#batchBytes += note.bytes.length;
    if (this.#batch.length >= BATCH_NOTES) await this.#store();
  }

  async finish(): Promise<Imported> {
    await this.#store();
    // Last, because the title image has to be there.
    const settings = this.#settings;
    if (settings) await this.#unlessRefused(SETTINGS_FILE, () => this.#configure(settings));
    return this.#result;
  }

  /** Tells how many notes were stored. */
  record(): void {
    const { imported: count } = this.#result;
    if (count > 0)
      this.#parts.record({ name: 'notes imported', feed: this.#admitted.name, count }, this.#caller);
  }

  async #unlessRefused<T>(file: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      // The service failed; the file is not to blame.
      if (!(error instanceof Refusal) || error.status >= 500) throw error;
      this.refuse(file, error);
      return undefined;
    }
  }

  async #noteOf(file: ZippedFile): Promise<NewNote | 'skipped'> {
    const { storage, checks, maxImageBytes } = this.#parts;
    const { file: name, id, type } = parseNoteFile(file.name)!;
    refusePicture(type, this.#limits);
    const { feed } = this.#admitted;
    // Of a text it is cheaper to let the storage see that it is there.
    if (type !== 'md' && feed && (await storage.stat(feed, name))) return 'skipped';
    const { meta: sent, created, others } = await metaOf(file, type);
    const meta = this.#parts.takesSenders ? sent : { ...sent, sender: undefined };
    if (meta.expires !== undefined && meta.expires <= Date.now()) {
      this.#expired += 1;
      return 'skipped';
    }
    const { modifiedAt } = file;
    const createdAt = dateOfId(id) ?? created ?? datePrefixOfId(id) ?? modifiedAt;
    const limit = noteLimit(type, maxImageBytes);
    const bytes = await file.read(limit, file.size > limit ? undefined : this.#room(file.size));
    const note = { id, type, createdAt, modifiedAt, others, bytes };
    if (type === 'md') {
      if (!isUtf8(bytes)) throw new Refusal('unsupported_type', wrongFormat(bytes, 'a text in UTF-8'));
      refuseBlank(bytes);
      return { ...note, meta };
    }
    const inspection = await inspectPicture(checks, bytes);
    if (inspection.type !== type) throw new Refusal('unsupported_type', wrongFormat(bytes, typeName(type)));
    await refuseBlocked(storage.records, [inspection.sha256]);
    return { ...note, meta: { ...meta, pixels: pixelsOf(inspection, bytes) }, sha256: inspection.sha256 };
  }

  /** Memory for one more note of the batch. The batch must be empty, or have room for it. */
  #room(size: number): Uint8Array {
    if (size > this.#memory.byteLength) this.#memory = new SharedArrayBuffer(size);
    return new Uint8Array(this.#memory, this.#batchBytes, size);
  }

  async #store(): Promise<void> {
    const notes = this.#batch;
    if (notes.length === 0) return;
    [this.#batch, this.#batchBytes] = [[], 0];
    let outcomes: readonly ImportOutcome[];
    try {
      outcomes = (await this.#import(notes)).outcomes!;
    } catch (error) {
      // A new feed has no room for any of these notes, so none is made.
      if (!(error instanceof Refusal) || error.position === undefined) throw error;
      outcomes = notes.map(() => error);
    }
    const hindered: (readonly [NewNote, ImportOutcome])[] = [];
    for (const [n, outcome] of outcomes.entries()) {
      if (outcome === 'skipped' || (outcome !== 'stored' && outcome.code === 'key_reused'))
        hindered.push([notes[n]!, outcome]);
      else this.#count(notes[n]!, outcome);
    }
    if (hindered.length > 0) await this.#storeAgain(hindered);
  }

  /**
   * Tries again to store notes whose file or key another note has, after a sweep: the other note may have expired. Counts those
   * whose file is there to stay as skipped.
   */
  async #storeAgain(hindered: readonly (readonly [NewNote, ImportOutcome])[]): Promise<void> {
    const { storage } = this.#parts;
    const feed = this.#feed!;
    const isThere = await Promise.all(
      hindered.map(([{ id, type }]) => storage.stat(feed, noteFile(id, type)).then(Boolean)),
    );
    const again = hindered.filter(([, outcome], n) => outcome !== 'skipped' || !isThere[n]);
    for (const one of hindered) if (!again.includes(one)) this.#count(...one);
    if (again.length === 0) return;
    await this.#sweep();
    const notes = again.map(([note]) => note);
    for (const [n, outcome] of (await this.#import(notes)).outcomes!.entries())
      this.#count(notes[n]!, outcome);
  }

  #count({ id, type }: NewNote, outcome: ImportOutcome): void {
    if (outcome === 'stored') this.#result.imported += 1;
    else if (outcome === 'skipped') this.#result.skipped += 1;
    else this.refuse(`${id}.${type}`, outcome);
  }

  /** Removes the notes that are due. */
  async #sweep(): Promise<void> {
    for (let { noteCount } = this.#feed!; ; ) {
      const written = await this.#parts.storage.write({ kind: 'sweep', ...toFeed(this.#feed!) });
      const { feed } = existing(written, 'feed');
      if (feed.noteCount >= noteCount) return;
      noteCount = feed.noteCount;
    }
  }

  /** Makes the feed if it is not there. */
  async #import(notes: readonly NewNote[]): Promise<Written> {
    const { storage, posting, limits } = this.#parts;
    // One for all batches that a new feed has no room for, because it hashes a password.
    this.#target ??= await posting.target(this.#admitted, this.#caller);
    const written = this.#feed
      ? await storage.write({ kind: 'import', ...toFeed(this.#feed), notes, limits })
      : await posting.import(this.#admitted, this.#target, notes, this.#caller);
    this.#feed = existing(written, 'feed').feed;
    return written!;
  }

  /**
   * Settings that the feed has stay. How long notes are kept, and that search engines may list them, is only taken over if the feed
   * has no other notes than those of the zip.
   */
  async #configure(file: ZippedFile): Promise<void> {
    const found = settingsIn(objectIn(await file.read(MAX_META_BYTES)));
    const { storage } = this.#parts;
    const title = oneLine('title', found.title, TITLE_LENGTH, 'invalid_body');
    const description = oneLine('description', found.description, DESCRIPTION_LENGTH, 'invalid_body');
    // Settings alone make no feed.
    existing(this.#feed ?? this.#admitted.feed, 'feed');
    const target = toFeed(this.#feed ?? (await this.#import([])).feed);
    const { image, keepDays, keepNotes } = found;
    const { imported, skipped } = this.#result;
    // The feed as it is now, because others may have changed it during the upload.
    const written = await changeFeed(
      () => storage.feed(target.name),
      async (feed) => {
        const maxNotes = imported + skipped - this.#expired;
        const isAllImported = feed.noteCount <= maxNotes;
        const takesKeep = (feed.keepDays ?? feed.keepNotes) === undefined && isAllImported;
        const takesImage =
          feed.image === undefined && image !== undefined && parseNoteFile(image)?.type !== 'md';
        const settings = {
          ...(feed.title === '' && { title }),
          ...(feed.description === '' && { description }),
          ...(!found.showSender && { showSender: false }),
          ...(found.listed && isAllImported && { listed: true }),
          ...(takesImage && (await storage.stat(feed, image)) && { image }),
          ...(takesKeep && { keepDays, keepNotes }),
        };
        const conditions = { ifMatch: [feedEtag(feed)], maxNotes: isAllImported ? maxNotes : undefined };
        try {
          const written = await storage.write({ kind: 'configure', ...target, ...conditions, settings });
          return existing(written, 'feed');
        } catch (error) {
          if (error instanceof Refusal && error.code === 'changed') return undefined;
          throw error;
        }
      },
    );
    existing(written, 'feed');
  }
}

/** The metadata beside a note, by the rules of a post. */
async function metaOf(file: ZippedFile, type: NoteType): Promise<StoredMeta> {
  try {
    const bytes = await file.readMeta(MAX_META_BYTES);
    if (bytes === undefined) return NO_META;
    const fields = objectIn(bytes);
    const stored = metaIn(fields);
    return { ...stored, meta: checkedMeta(stored.meta, fields, type) };
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500) throw error;
    throw new Refusal(error.code, `Its metadata file is refused: ${error.message}`);
  }
}

function checkedMeta(meta: NoteMeta, { key }: JsonObject, type: NoteType): NoteMeta {
  const line = (name: 'title' | 'alt' | 'sender', length: number) =>
    meta[name] && oneLine(name, meta[name], length);
  refuseAlt(type, meta.alt);
  const { expires } = meta;
  if (expires !== undefined && expires > Date.now()) expiryOf(new Date(expires).toISOString());
  return {
    ...meta,
    title: line('title', TITLE_LENGTH),
    alt: line('alt', ALT_LENGTH),
    sender: line('sender', SENDER_LENGTH),
    name: type === 'md' ? undefined : meta.name && (pictureName(meta.name) || undefined),
    tags: validTags(meta.tags),
    key: key === undefined || key === null ? undefined : keyIn(key),
    attachedTo: type === 'md' ? undefined : meta.attachedTo,
    unlisted: type === 'md' ? undefined : meta.unlisted,
    pixels: undefined,
  };
}

/** @throws Refusal `invalid_request` for anything but a text or number: some objects cannot become a text */
function keyIn(key: unknown): string {
  return noteKey(typeof key === 'string' || typeof key === 'number' ? String(key) : '');
}

/** @throws Refusal `invalid_body` */
function objectIn(bytes: Uint8Array): JsonObject {
  const object = isUtf8(bytes) ? parseObject(Buffer.from(bytes).toString()) : undefined;
  if (object === undefined) throw new Refusal('invalid_body', 'It is no JSON object in UTF-8.');
  return object;
}

import type { Database } from 'better-sqlite3';
import type { Feed } from '../../feeds/feed.ts';
import { type ImageKey, randomReadId } from '../../feeds/ids.ts';
import { type FeedName, type NoteFile, noteFile, parseNoteFile, type ReadId } from '../../feeds/names.ts';
import type { NewNote } from '../../feeds/note.ts';
import { type Command, lookupsOf, type NoteRef } from '../../writing/command.ts';
import {
  changesSettings,
  decide,
  type Effects,
  type NoteEdit,
  type State,
  type WritingRules,
} from '../../writing/decide.ts';
import { dueOf } from '../../writing/due.ts';
import { type ChangedNotes, changedNotes } from '../arrivals.ts';
import { dueAfter, needsOldest, sweptRows } from '../due-rows.ts';
import type { OperatorRecord, OperatorRecordKind } from '../operator-records.ts';
import {
  datedNow,
  FEED_COLUMNS,
  type FeedRow,
  feedOf,
  insertedNote,
  noteOf,
  settingColumns,
} from '../rows.ts';
import type { Written } from '../storage.ts';
import { preparer } from './connection.ts';
import { NoteRows, type StoredNote } from './note-rows.ts';
import type { Pictures } from './pictures.ts';

/** The result of a write, and the read ids whose views are out of date if anything changed. */
interface WriteReply {
  readonly written: Written | undefined;
  readonly readIds?: readonly ReadId[];
  /** The files of notes that came, changed or went, unless the feed was deleted. */
  readonly files?: readonly NoteFile[];
  readonly notes?: ChangedNotes;
}

/** Whether a record was added or removed, and the read ids of the feed that this closed or opened. */
export interface RecordReply {
  readonly isDone: boolean;
  readonly readIds: readonly ReadId[];
}

/** A feed as the transaction has left it so far. */
interface OpenFeed {
  readonly row: number;
  feed: Feed;
  /** See `dueAfter`. */
  dueAt: number | null;
  /**
   * The result of all writes of the transaction to this feed, completed in `finish()`. They share it, because structured clone
   * sends a shared object once.
   */
  result: Feed | undefined;
}

/** What was looked up to decide a command. */
interface LookedUp {
  readonly now: number;
  /** The note that the command names. */
  readonly noteRow?: StoredNote | undefined;
  readonly swept?: { readonly rows: readonly StoredNote[] } | undefined;
}

const NOTHING: WriteReply = { written: undefined };
/** Notes removed in one step; few, because a deletion reads all pages of a picture. */
const CLEARED_NOTES = 20;
const CLEARED_ROWS = 1_000;

/** Decides and stores commands, each within a transaction that the caller begins and commits. */
export class Writes {
  readonly #rules: WritingRules;
  readonly #sql: ReturnType<typeof prepareStatements>;
  readonly #notes: NoteRows;
  readonly #pictures: Pictures;
  #feeds = 0;
  #bytes = 0;
  /** Each is read once in a transaction. */
  readonly #open = new Map<FeedName, OpenFeed>();
  /** Their counts and dates are written once, in `finish()`. */
  readonly #changed = new Set<OpenFeed>();

  /** @param lastRow see `NoteRows` */
  constructor(db: Database, pictures: Pictures, rules: WritingRules, lastRow?: Float64Array) {
    this.#rules = rules;
    this.#sql = prepareStatements(db);
    this.#notes = new NoteRows(db, lastRow);
    this.#pictures = pictures;
    this.recount();
  }

  /** Call it before each transaction. */
  begin(): void {
    this.#open.clear();
    this.#changed.clear();
  }

  /** Completes the results of all writes. Call it before the commit. */
  finish(): void {
    for (const { row, feed, result } of this.#changed) {
      this.#sql.count.run(feed.noteCount, feed.imageCount, feed.byteCount, feed.changedAt, row);
      Object.assign(result!, feed);
    }
  }

  /** Call it after a rollback. */
  recount(): void {
    const { count, bytes } = this.#sql.countFeeds.get()!;
    this.#feeds = count;
    this.#bytes = bytes;
  }

  /** See `Storage.write`. A `Refusal` is thrown before anything is changed. */
  write(command: Command): WriteReply {
    const open = this.#openFeed(command.name);
    const { note, readId, licenseId, image, imported = [], pictures = [] } = lookupsOf(command);
    const now = Date.now();
    const noteRow = open && note && this.#find(open.row, note);
    const swept = open && command.kind === 'sweep' ? this.#sweep(open, now) : undefined;
    const state: State = {
      now,
      feed: open?.feed,
      note: noteRow && noteOf(noteRow),
      readIdHolder: readId && this.#sql.readIdHolder.get(readId)?.name,
      feeds: this.#feeds,
      bytes: this.#bytes,
      isNameBlocked: !open && this.#isBlocked('name', command.name),
      blockedPictures: new Set(pictures.filter((sha256) => this.#isBlocked('picture', sha256))),
      licensed: open && licenseId ? this.#sql.countLicensed.get(licenseId, open.row)!.count : 0,
      hasImage: open !== undefined && image !== undefined && this.#hasFile(open.row, image),
      ...(open && imported.length > 0 && this.#presentOf(open.row, imported)),
      due: swept?.rows.map(noteOf) ?? [],
    };
    const effects = decide(command, state, this.#rules);
    if (effects === undefined) return NOTHING;
    if (effects.reclaimsReadId) this.#sql.freeReadId.run(randomReadId(), effects.feed.readId);
    if (swept) this.#setDue(open!, swept.dueAt);
    if (open) return this.#store(effects, open, { now, noteRow, swept });
    const made = this.#make(effects.feed);
    return this.#store({ ...effects, feed: made.feed }, made, { now });
  }

  /** See `OperatorRecords`. */
  addRecord({ kind, key, value, at }: OperatorRecord): RecordReply {
    const isDone = this.#sql.addRecord.run(kind, key, value, at).changes > 0;
    return { isDone, readIds: isDone && kind === 'name' ? this.#setBlocked(key as FeedName, true) : [] };
  }

  removeRecord(kind: OperatorRecordKind, key: string): RecordReply {
    const isDone = this.#sql.removeRecord.run(kind, key).changes > 0;
    return { isDone, readIds: isDone && kind === 'name' ? this.#setBlocked(key as FeedName, false) : [] };
  }

  /** Removes some notes of deleted feeds; false when none is left. */
  clearSome(): boolean {
    const feed = this.#sql.feedToClear.get();
    if (!feed) return false;
    // First, because a new note may get the row id of one that is gone.
    for (const clear of [this.#sql.clearTags, this.#sql.clearKeys, this.#sql.clearExpiries])
      if (clear.run(feed.id, CLEARED_ROWS).changes > 0) return true;
    const cleared = this.#sql.clearNotes.all(feed.id, CLEARED_NOTES);
    for (const { image_key } of cleared) this.#pictures.freeKey(image_key);
    if (cleared.length === 0) this.#sql.cleared.run(feed.id);
    return true;
  }

  /** See `TokenSeries`. Forgets series that have expired at `now`. */
  useToken(series: string, place: number, until: number, now: number): boolean {
    this.#sql.forgetSeries.run(now);
    return this.#sql.useToken.get({ series, place, until })!.turn > 0;
  }

  #store(effects: Effects, open: OpenFeed, { now, noteRow, swept }: LookedUp): WriteReply {
    const { fate, feed, added, edit, note, outcomes, readIds } = effects;
    const before = open.feed;
    // A sweep without notes has stored when to look again.
    if (fate === 'unchanged') return { written: { feed, note, isUnchanged: !swept, outcomes } };
    if (fate === 'deleted') {
      this.#sql.deleteFeed.run(open.row);
      this.#open.delete(feed.name);
      this.#feeds -= 1;
      this.#bytes -= before.byteCount;
      return { written: { feed, note }, readIds };
    }
    if (edit && noteRow) this.#storeEdit(edit, noteRow);
    for (const one of added) this.#notes.insert(insertedNote(open.row, one, now));
    for (const row of swept?.rows ?? []) this.#remove(row);
    const { keepDays } = this.#rules;
    if (!swept) this.#setDue(open, dueAfter(effects, before, open.dueAt, { now, keepDays }));
    if (changesSettings(before, feed)) this.#sql.configure.run({ ...settingColumns(feed), id: open.row });
    this.#bytes += feed.byteCount - before.byteCount;
    return {
      written: { feed: this.#change(open, feed), note, outcomes },
      readIds,
      files: changedFiles(effects),
      notes: changedNotes(effects),
    };
  }

  /** Returns what becomes the result of all changes of the feed in this transaction. */
  #change(open: OpenFeed, feed: Feed): Feed {
    open.feed = this.#changed.has(open) ? feed : datedNow(feed);
    open.result ??= { ...open.feed };
    this.#changed.add(open);
    return open.result;
  }

  #isBlocked(kind: OperatorRecordKind, key: string): boolean {
    return this.#sql.isBlocked.get(kind, key) !== undefined;
  }

  #setBlocked(name: FeedName, isBlocked: boolean): readonly ReadId[] {
    const open = this.#openFeed(name);
    if (!open) return [];
    this.#sql.setBlocked.run(Number(isBlocked), open.row);
    return [this.#change(open, { ...open.feed, isBlocked }).readId];
  }

  #storeEdit({ before, after, content }: NoteEdit, row: StoredNote): void {
    if (after === undefined) {
      this.#remove(row);
      return;
    }
    if (content) this.#notes.replace(row.row, content, after.modifiedAt);
    if (after.meta !== before.meta) this.#notes.setMeta(row, after.meta);
    if (content) this.#pictures.freeKey(row.image_key);
  }

  #remove(row: StoredNote): void {
    this.#notes.remove(row);
    this.#pictures.freeKey(row.image_key);
  }

  /** What is due in a feed, and when it is to be swept next. */
  #sweep({ row, feed }: OpenFeed, now: number) {
    const due = dueOf(feed, now, this.#rules.keepDays);
    const expired = this.#notes.expired(row, now);
    const oldest = needsOldest(due, expired) ? this.#notes.oldest(row, now) : [];
    return sweptRows(feed, due, { expired, oldest, nextExpiry: this.#notes.nextExpiry(row, now) });
  }

  #setDue(open: OpenFeed, dueAt: number | null): void {
    if (dueAt !== open.dueAt) this.#sql.setDue.run(dueAt, open.row);
    open.dueAt = dueAt;
  }

  #make(feed: Feed): OpenFeed {
    const { id } = this.#sql.makeFeed.get({ name: feed.name, ...settingColumns(feed) })!;
    const made = { row: id, feed: { ...feed, key: String(id) }, dueAt: null, result: undefined };
    this.#open.set(feed.name, made);
    this.#feeds += 1;
    this.#bytes += feed.byteCount;
    return made;
  }

  #openFeed(name: FeedName): OpenFeed | undefined {
    const known = this.#open.get(name);
    if (known) return known;
    const row = this.#sql.feedByName.get(name);
    const found = row && { row: row.id, feed: feedOf(row), dueAt: row.due_at, result: undefined };
    if (found) this.#open.set(name, found);
    return found;
  }

  #find(feed: number, note: NoteRef): StoredNote | undefined {
    if (note.key !== undefined) return this.#notes.findByKey(feed, note.key);
    return this.#notes.find(feed, note.id, note.type);
  }

  #presentOf(feed: number, imported: readonly NewNote[]): Pick<State, 'present' | 'heldKeys'> {
    const there = imported.filter((note) => this.#notes.has(feed, note));
    const keys = imported.map(({ meta }) => meta.key).filter((key) => key !== undefined);
    return {
      present: new Set(there.map(({ id, type }) => noteFile(id, type))),
      heldKeys: new Set(keys.filter((key) => this.#find(feed, { key }))),
    };
  }

  #hasFile(feed: number, file: NoteFile): boolean {
    const named = parseNoteFile(file);
    return named !== undefined && this.#notes.find(feed, named.id, named.type) !== undefined;
  }
}

function changedFiles({ added, edit, removed = [] }: Effects): NoteFile[] {
  const notes = [...added, ...removed, ...(edit ? [edit.before] : [])];
  return notes.map(({ id, type }) => noteFile(id, type));
}

function prepareStatements(db: Database) {
  const prepare = preparer(db);
  return {
    countFeeds: prepare<[], { count: number; bytes: number }>`
      SELECT count(*) AS count, coalesce(sum(byte_count), 0) AS bytes FROM feeds WHERE name IS NOT NULL`,
    addRecord: prepare<[OperatorRecordKind, string, string, number]>`
      INSERT INTO operator_records (kind, key, value, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    removeRecord: prepare<
      [OperatorRecordKind, string]
    >`DELETE FROM operator_records WHERE kind = ? AND key = ?`,
    setBlocked: prepare<[number, number]>`UPDATE feeds SET blocked = ? WHERE id = ?`,
    isBlocked: prepare<
      [OperatorRecordKind, string],
      object
    >`SELECT 1 FROM operator_records WHERE kind = ? AND key = ?`,
    feedByName: prepare<[FeedName], FeedRow<number> & { due_at: number | null }>`
      SELECT ${FEED_COLUMNS}, due_at FROM feeds WHERE name = ?`,
    setDue: prepare<[number | null, number]>`UPDATE feeds SET due_at = ? WHERE id = ?`,
    readIdHolder: prepare<[ReadId], { name: FeedName | null }>`SELECT name FROM feeds WHERE read_id = ?`,
    freeReadId: prepare<[ReadId, ReadId]>`UPDATE feeds SET read_id = ? WHERE read_id = ? AND name IS NULL`,
    makeFeed: prepare<object, { id: number }>`
      INSERT INTO feeds (name, read_id, password_hash, title, description, show_sender, image, license, license_id, keep_days,
        keep_notes, listed, changed_at)
      VALUES ($name, $read_id, $password_hash, $title, $description, $show_sender, $image, $license, $license_id, $keep_days,
        $keep_notes, $listed, 0)
      RETURNING id`,
    count: prepare<[number, number, number, number, number]>`
      UPDATE feeds SET note_count = ?, image_count = ?, byte_count = ?, changed_at = ? WHERE id = ?`,
    configure: prepare<object>`
      UPDATE feeds SET read_id = $read_id, password_hash = $password_hash, title = $title, description = $description,
        show_sender = $show_sender, image = $image, license = $license, license_id = $license_id, keep_days = $keep_days,
        keep_notes = $keep_notes, listed = $listed WHERE id = $id`,
    useToken: prepare<object, { turn: number }>`
      INSERT INTO token_series (id, turn, until) VALUES ($series, iif($place = 0, 1, -1), $until)
      ON CONFLICT (id) DO UPDATE SET turn = iif(turn = $place, $place + 1, -1) RETURNING turn`,
    forgetSeries: prepare<[number]>`DELETE FROM token_series WHERE until <= ?`,
    countLicensed: prepare<[string, number], { count: number }>`
      SELECT count(*) AS count FROM feeds WHERE license_id = ? AND id <> ?`,
    deleteFeed: prepare<[number]>`
      UPDATE feeds SET name = NULL, password_hash = NULL, title = '', description = '', image = NULL,
        license = NULL, license_id = NULL, keep_days = NULL, keep_notes = NULL, listed = 0, due_at = NULL, blocked = 0 WHERE id = ?`,
    // Of deleted feeds.
    feedToClear: prepare<[], { id: number }>`
      SELECT id FROM feeds WHERE name IS NULL AND note_count > 0 LIMIT 1`,
    clearTags: prepare<[number, number]>`
      DELETE FROM tags WHERE (feed, tag, created_at, id, type) IN
        (SELECT feed, tag, created_at, id, type FROM tags WHERE feed = ? LIMIT ?)`,
    clearKeys: prepare<[number, number]>`
      DELETE FROM note_keys WHERE (feed, key, note) IN (SELECT feed, key, note FROM note_keys WHERE feed = ? LIMIT ?)`,
    clearExpiries: prepare<[number, number]>`
      DELETE FROM expiries WHERE note IN (SELECT note FROM expiries WHERE feed = ? LIMIT ?)`,
    clearNotes: prepare<[number, number], { image_key: ImageKey | null }>`
      DELETE FROM notes WHERE row IN (SELECT row FROM notes WHERE feed = ? LIMIT ?) RETURNING image_key`,
    cleared: prepare<[number]>`UPDATE feeds SET note_count = 0, image_count = 0, byte_count = 0 WHERE id = ?`,
  };
}

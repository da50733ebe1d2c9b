import type { Feed } from '../../feeds/feed.ts';
import { randomReadId } from '../../feeds/ids.ts';
import { type FeedName, type NoteFile, noteFile, parseNoteFile, type ReadId } from '../../feeds/names.ts';
import { contentSize, type NewNote } from '../../feeds/note.ts';
import { NOTE_TYPES } from '../../feeds/note-types.ts';
import { Refusal } from '../../refusals.ts';
import { type Command, contentsOf, lookupsOf, type NoteRef } from '../../writing/command.ts';
import {
  changesSettings,
  decide,
  type Effects,
  type NoteEdit,
  type State,
  type WritingRules,
} from '../../writing/decide.ts';
import { dueOf, SWEPT_NOTES } from '../../writing/due.ts';
import { changedNotes, touchesNotes } from '../arrivals.ts';
import { dueAfter, needsOldest, OLDEST_NOTES, sweptRows } from '../due-rows.ts';
import type { OperatorRecordKind } from '../operator-records.ts';
import {
  contentColumns,
  datedNow,
  FEED_COLUMNS,
  type FeedRow,
  feedOf,
  type InsertedNote,
  insertedNote,
  metadataColumns,
  metaOf,
  type NoteRow,
  noteOf,
  settingColumns,
  type TaggedNote,
  typeRange,
} from '../rows.ts';
import type { Written } from '../storage.ts';
import type { ChangedFeed } from './change-notice.ts';
import { recordChanges } from './changes-table.ts';
import { CountLimits } from './feed-counts.ts';
import {
  CONTENTLESS_COLUMNS,
  deleteNotes,
  deleteTags,
  insertNotes,
  insertTags,
  isLive,
  NOTE_COLUMNS,
} from './note-rows.ts';
import { freeKeys } from './picture-rows.ts';
import { columnsOf, LostRace, NOW, statement, type Transaction, transposed } from './transaction.ts';

/** The advisory lock of closed names and pictures, held for one transaction: any number that nothing else uses. */
export const BLOCKS_LOCK = 6_478_236_894;

/** The result of a command; an error if it is refused or fails; undefined if it found no feed or note. */
export type Result = Written | Error | undefined;

type StoredNote = NoteRow & TaggedNote & Pick<InsertedNote, 'image_key'>;

/** A feed as the transaction has left it so far. */
interface OpenFeed {
  /** Undefined until the row of a new feed is inserted. */
  readonly key: string | undefined;
  readonly before: Feed | undefined;
  after: Feed | undefined;
  /** See `dueAfter`. */
  dueAt: number | null;
}

/** The decision about a command. */
interface Decision {
  readonly effects: Effects;
  readonly open: OpenFeed;
  readonly note: StoredNote | undefined;
  /** The notes that a sweep removes; undefined for another command. */
  readonly swept: readonly StoredNote[] | undefined;
}

export const LOCK_FEEDS = statement<FeedRow & { due_at: number | null }>('lock_feeds')`
  SELECT ${FEED_COLUMNS}, due_at FROM feeds WHERE name = ANY ($1) ORDER BY id FOR UPDATE`;
/** No operator closes a name or a picture until this transaction ends. */
const KEEP_BLOCKS = statement('keep_blocks')`SELECT pg_advisory_xact_lock_shared(${BLOCKS_LOCK})`;
const BLOCKED = statement<{ key: string }>('blocked')`
  SELECT key FROM operator_records WHERE kind = $1 AND key = ANY ($2)`;
const HOLDERS = statement<{ name: FeedName | null; read_id: ReadId }>('holders')`
  SELECT name, read_id FROM feeds WHERE name = ANY ($1)
  UNION SELECT name, read_id FROM feeds WHERE read_id = ANY ($2)`;
const FREE_READ_ID = statement('free_read_id')`
  UPDATE feeds SET read_id = $2 WHERE read_id = $1 AND name IS NULL`;
const MAKE = statement<{ id: number; name: FeedName }>('make_feeds')`
  INSERT INTO feeds (name, read_id, password_hash, title, description, show_sender, image, license, license_id, keep_days,
    keep_notes, listed, changed_at)
  SELECT name, read_id, password_hash, title, description, show_sender = 1, image, license, license_id, keep_days, keep_notes,
    listed = 1, 0
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::text[], $8::text[], $9::text[],
    $10::integer[], $11::integer[], $12::integer[])
    AS new (name, read_id, password_hash, title, description, show_sender, image, license, license_id, keep_days, keep_notes,
      listed)
  ON CONFLICT DO NOTHING RETURNING id, name`;
const FIND = statement<StoredNote>('find_note')`
  SELECT ${NOTE_COLUMNS}, feed, image_key FROM notes
  WHERE feed = $1 AND id = $2 AND type BETWEEN $3 AND $4 AND ${isLive('$5')} ORDER BY type LIMIT 1`;
/** The notes of keys, also those that have expired. Of several, which people can make on plain files, the oldest counts. */
const FIND_KEYED = statement<StoredNote & { key: string }>('find_keyed')`
  SELECT ${NOTE_COLUMNS}, notes.feed, image_key, notes.key FROM unnest($1::bigint[], $2::text[]) AS wanted (feed, key)
  JOIN notes ON notes.feed = wanted.feed AND notes.key = wanted.key ORDER BY created_at DESC, id DESC, type DESC`;
const SWEPT_COLUMNS = `${CONTENTLESS_COLUMNS}, NULL AS content, feed, image_key`;
const EXPIRED = statement<StoredNote>('expired')`
  SELECT ${SWEPT_COLUMNS} FROM notes WHERE feed = $1 AND expires_at <= $2 ORDER BY expires_at LIMIT ${SWEPT_NOTES}`;
const NEXT_EXPIRY = statement<{ expires_at: number }>('next_expiry')`
  SELECT expires_at FROM notes WHERE feed = $1 AND expires_at > $2 ORDER BY expires_at LIMIT 1`;
const OLDEST = statement<StoredNote>('oldest')`
  SELECT ${SWEPT_COLUMNS} FROM notes WHERE feed = $1 AND ${isLive('$2')}
  ORDER BY created_at, id, type LIMIT ${OLDEST_NOTES}`;
const INSTANCE = statement<{ keep_days: number; now: number }>('instance')`
  SELECT keep_days, ${NOW} AS now FROM sweeper`;
const PRESENT = statement<Pick<NoteRow, 'id' | 'type'>>('present_notes')`
  SELECT id, type FROM notes WHERE feed = $1 AND id = ANY ($2)`;
const REPLACE = statement('replace_note')`
  UPDATE notes SET content = $4, size = $5, sha256 = $6, image_key = $7,
    modified_at = $8
  WHERE feed = $1 AND id = $2 AND type = $3`;
const SET_METADATA = statement('set_metadata')`
  UPDATE notes SET metadata = $4, key = $5, expires_at = $6 WHERE feed = $1 AND id = $2 AND type = $3`;
const CONFIGURE = statement('configure')`
  UPDATE feeds SET read_id = $2, password_hash = $3, title = $4, description = $5, show_sender = $6::integer = 1,
    image = $7, license = $8, license_id = $9, keep_days = $10, keep_notes = $11,
    listed = $12::integer = 1 WHERE id = $1`;
// The other key of these locks says that they are of licenses; two ids that have the same number only wait longer.
const LOCK_LICENSE = statement('lock_license')`SELECT pg_advisory_xact_lock(1818845540, hashtext($1))`;
const COUNT_LICENSED = statement<{ count: number }>('count_licensed')`
  SELECT count(*)::integer AS count FROM feeds WHERE license_id = $1 AND id <> $2`;
const DELETE_FEED = statement('delete_feed')`
  UPDATE feeds SET name = NULL, password_hash = NULL, title = '', description = '', image = NULL,
    license = NULL, license_id = NULL, keep_days = NULL, keep_notes = NULL, listed = false, due_at = NULL,
    to_clear = true, byte_count = 0, blocked = false WHERE id = $1`;
const COUNT_NOTES = statement('count_notes')`
  UPDATE feeds SET note_count = notes, image_count = images, byte_count = bytes, changed_at = changed, due_at = due
  FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS now (feed, notes, images, bytes, changed, due)
  WHERE feeds.id = feed`;
const SET_DUE = statement('set_due')`UPDATE feeds SET due_at = $2 WHERE id = $1`;

/** Decides and stores commands in one transaction, in their order. Only posts come together, and only one of each key. */
export class Writes {
  readonly #transaction: Transaction;
  readonly #rules: WritingRules;
  readonly #now = Date.now();
  readonly #open = new Map<FeedName, OpenFeed>();
  /** Names of feeds, or null for a deleted one, by their read ids. */
  readonly #holders = new Map<ReadId, FeedName | null>();
  /** By feed and key. */
  readonly #keyed = new Map<string, StoredNote>();
  readonly #limits: CountLimits;
  #feeds = 0;
  #bytes = 0;
  /** What this transaction adds to the number of feeds and the bytes in them. */
  #moreFeeds = 0;
  #moreBytes = 0;
  #blockedNames: ReadonlySet<string> = new Set();
  #blockedPictures: ReadonlySet<string> = new Set();
  /** Those of the last start of any process. */
  #keepDays: number;
  /** What is due by this moment is removed: not the clock of this process alone, because one that is ahead would remove too much. */
  #dueBy = this.#now;

  constructor(transaction: Transaction, rules: WritingRules) {
    this.#transaction = transaction;
    this.#rules = rules;
    this.#keepDays = rules.keepDays;
    this.#limits = new CountLimits(transaction, rules);
  }

  async run(commands: readonly Command[]): Promise<readonly Result[]> {
    await this.#lockFeeds(commands);
    const makers = commands
      .filter(({ name, target }) => target.kind === 'new' && !this.#open.has(name))
      .map(({ name }) => name);
    await this.#lockCounts(commands, makers);
    await this.#lockBlocks(commands, makers);
    await this.#lookUpReadIds(commands, makers);
    await this.#lookUpKeys(commands);
    const decisions: (Decision | Refusal | undefined)[] = [];
    for (const command of commands) decisions.push(await this.#decide(command));
    const decided = decisions.filter(
      (one): one is Decision => one !== undefined && !(one instanceof Refusal),
    );
    const keys = await this.#makeFeeds(decided);
    const finals = await this.#store(decided, keys);
    return decisions.map((decision) => {
      if (decision === undefined || decision instanceof Refusal) return decision;
      const { effects, open } = decision;
      // A sweep without notes has stored when to look again.
      const isUnchanged = effects.fate === 'unchanged' && !decision.swept;
      const { note, outcomes } = effects;
      return { feed: finals.get(open) ?? effects.feed, note, isUnchanged, outcomes };
    });
  }

  /**
   * Every change of a feed or its notes locks the feed first; several are locked in the order of their ids, and before
   * anything else, so there is no deadlock.
   */
  async #lockFeeds(commands: readonly Command[]): Promise<void> {
    const names = new Set(commands.map(({ name }) => name));
    const [rows, [instance]] = await Promise.all([
      this.#transaction.run(LOCK_FEEDS, [[...names]]),
      this.#transaction.run(INSTANCE, []),
    ]);
    if (instance) {
      // Not the days of this process, because one with others may have been started since.
      this.#keepDays = instance.keep_days;
      this.#dueBy = Math.min(this.#now, instance.now);
    }
    for (const row of rows) {
      const feed = feedOf(row);
      this.#open.set(row.name, { key: feed.key, before: feed, after: feed, dueAt: row.due_at });
    }
  }

  async #lockCounts(commands: readonly Command[], makers: readonly FeedName[]): Promise<void> {
    const bytes = commands.flatMap(contentsOf).reduce((sum, content) => sum + contentSize(content), 0);
    const counts = await this.#limits.lock({ feeds: makers.length, bytes });
    this.#feeds = counts.feeds;
    this.#bytes = counts.bytes;
  }

  async #lockBlocks(commands: readonly Command[], makers: readonly FeedName[]): Promise<void> {
    const pictures = commands.flatMap((command) => lookupsOf(command).pictures ?? []);
    if (makers.length + pictures.length === 0) return;
    this.#transaction.send(KEEP_BLOCKS, []);
    const blocked = async (kind: OperatorRecordKind, keys: readonly string[]) => {
      const found = keys.length > 0 ? await this.#transaction.run(BLOCKED, [kind, keys]) : [];
      return new Set(found.map(({ key }) => key));
    };
    [this.#blockedNames, this.#blockedPictures] = await Promise.all([
      blocked('name', makers),
      blocked('picture', pictures),
    ]);
  }

  async #lookUpReadIds(commands: readonly Command[], makers: readonly FeedName[]): Promise<void> {
    const wanted = commands.filter(
      ({ name, target }) => target.kind === 'existing' || !this.#open.get(name)?.after,
    );
    const readIds = wanted.map((command) => lookupsOf(command).readId).filter((id) => id !== undefined);
    if (readIds.length === 0) return;
    for (const { name, read_id } of await this.#transaction.run(HOLDERS, [makers, readIds])) {
      if (name !== null && makers.includes(name)) throw new LostRace();
      this.#holders.set(read_id, name);
    }
  }

  async #lookUpKeys(commands: readonly Command[]): Promise<void> {
    const wanted = commands.flatMap((command) => {
      const feed = this.#open.get(command.name)?.key;
      const { note, imported = [] } = lookupsOf(command);
      const keys = [note?.key, ...imported.map(({ meta }) => meta.key)].filter((key) => key !== undefined);
      return feed === undefined ? [] : keys.map((key) => ({ feed, key }));
    });
    if (wanted.length === 0) return;
    for (const row of await this.#transaction.run(FIND_KEYED, columnsOf(wanted, 'feed', 'key')))
      this.#keyed.set(`${row.feed} ${row.key}`, row);
  }

  async #decide(command: Command): Promise<Decision | Refusal | undefined> {
    const { name } = command;
    const open = this.#open.get(name);
    const { note, readId, licenseId, image, imported = [] } = lookupsOf(command);
    const found = open?.key && note && (await this.#find(open.key, note));
    const swept = command.kind === 'sweep' && open?.after ? await this.#sweep(open, open.after) : undefined;
    const state: State = {
      now: this.#now,
      feed: open?.after,
      note: found ? noteOf(found) : undefined,
      readIdHolder: readId && this.#holders.get(readId),
      feeds: this.#feeds,
      bytes: this.#bytes + this.#moreBytes,
      isNameBlocked: this.#blockedNames.has(name),
      blockedPictures: this.#blockedPictures,
      licensed: open?.key && licenseId ? await this.#countLicensed(open.key, licenseId) : 0,
      hasImage: open?.key !== undefined && image !== undefined && (await this.#hasFile(open.key, image)),
      ...(open?.key && imported.length > 0 && (await this.#presentOf(open.key, imported))),
      due: swept?.map(noteOf) ?? [],
    };
    try {
      const effects = decide(command, state, this.#rules);
      return (
        effects && {
          effects,
          open: this.#apply(effects, open, swept !== undefined),
          note: found || undefined,
          swept,
        }
      );
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  }

  /** The feed as later commands find it. */
  #apply(effects: Effects, known: OpenFeed | undefined, isSwept: boolean): OpenFeed {
    const { fate, feed } = effects;
    const isNew = fate === 'made' || known === undefined;
    const open = isNew ? { key: undefined, before: undefined, after: feed, dueAt: null } : known;
    if (!isSwept && fate !== 'unchanged') {
      const moment = { now: this.#now, keepDays: this.#keepDays };
      open.dueAt = dueAfter(effects, open.after ?? feed, open.dueAt, moment);
    }
    const bytesBefore = isNew ? 0 : (open.after?.byteCount ?? 0);
    open.after = fate === 'deleted' ? undefined : feed;
    this.#moreBytes += (open.after?.byteCount ?? 0) - bytesBefore;
    if (!isNew) return open;
    this.#open.set(feed.name, open);
    this.#holders.set(feed.readId, feed.name);
    this.#feeds += 1;
    return open;
  }

  /**
   * Inserts the rows of new feeds. A transaction that chose one of their read ids at the same time may have been faster: then
   * nothing is done, and the commands are decided again.
   * @returns the keys of all feeds
   */
  async #makeFeeds(decisions: readonly Decision[]): Promise<Map<OpenFeed, string>> {
    const keys = new Map([...this.#open.values()].map((open) => [open, open.key ?? '']));
    const made = decisions.filter(({ effects }) => effects.fate === 'made');
    if (made.length === 0) return keys;
    for (const { effects } of made)
      if (effects.reclaimsReadId) this.#transaction.send(FREE_READ_ID, [effects.feed.readId, randomReadId()]);
    const values = made.map(({ effects: { feed } }) => [feed.name, ...Object.values(settingColumns(feed))]);
    const rows = await this.#transaction.run(MAKE, transposed(values));
    if (rows.length < made.length) throw new LostRace();
    for (const { id, name } of rows) keys.set(this.#open.get(name)!, String(id));
    this.#moreFeeds += rows.length;
    return keys;
  }

  /** Returns the changed feeds as they are stored. */
  async #store(
    decisions: readonly Decision[],
    keys: ReadonlyMap<OpenFeed, string>,
  ): Promise<Map<OpenFeed, Feed>> {
    const finals = new Map<OpenFeed, Feed>();
    const notices: ChangedFeed[] = [];
    for (const { effects, open, note, swept } of decisions) {
      const key = keys.get(open)!;
      if (effects.edit && note) this.#storeEdit(effects.edit, note);
      if (swept) deleteNotes(this.#transaction, swept);
      if (swept?.length === 0) this.#transaction.send(SET_DUE, [key, open.dueAt]);
      if (effects.fate === 'deleted') {
        this.#moreFeeds -= 1;
        this.#transaction.send(DELETE_FEED, [key]);
        notices.push({ key, readIds: effects.readIds });
      } else if (effects.fate !== 'unchanged' && !finals.has(open) && open.after) {
        finals.set(open, { ...datedNow(open.after), key });
        notices.push({ key, readIds: effects.readIds, ...changedNotes(effects) });
        if (open.before && changesSettings(open.before, open.after))
          this.#transaction.send(CONFIGURE, [key, ...Object.values(settingColumns(open.after))]);
      } else if (touchesNotes(effects)) {
        notices.push({ key, readIds: effects.readIds, ...changedNotes(effects) });
      }
    }
    const feeds = [...finals].map(([{ dueAt }, feed]) => ({ ...feed, dueAt }));
    if (feeds.length > 0)
      this.#transaction.send(
        COUNT_NOTES,
        columnsOf(feeds, 'key', 'noteCount', 'imageCount', 'byteCount', 'changedAt', 'dueAt'),
      );
    this.#limits.add({ feeds: this.#moreFeeds, bytes: this.#rules.maxBytes > 0 ? this.#moreBytes : 0 });
    recordChanges(this.#transaction, notices);
    const notes = decisions.flatMap(({ effects, open }) => {
      const feed = finals.get(open);
      if (!feed) return [];
      return effects.added.map((one) => ({
        ...insertedNote(Number(feed.key), one, this.#now),
        arrived_at: feed.changedAt,
      }));
    });
    await insertNotes(this.#transaction, notes);
    return finals;
  }

  #storeEdit({ before, after, content }: NoteEdit, note: StoredNote): void {
    const key = [note.feed, note.id, note.type];
    if (content) {
      const { content: bytes, size, sha256, image_key } = contentColumns(content);
      this.#transaction.send(REPLACE, [...key, bytes, size, sha256, image_key, after!.modifiedAt]);
    }
    if (after === undefined) deleteNotes(this.#transaction, [note]);
    else if (after.meta !== before.meta) {
      const { metadata, ...found } = metadataColumns(after.meta, metaOf(note.metadata).others);
      deleteTags(this.#transaction, [note]);
      insertTags(this.#transaction, [{ ...note, metadata }]);
      this.#transaction.send(SET_METADATA, [...key, metadata, found.key, found.expires_at]);
    }
    if (content) freeKeys(this.#transaction, [note]);
  }

  async #find(feed: string, note: NoteRef): Promise<StoredNote | undefined> {
    if (note.key !== undefined) return this.#keyed.get(`${feed} ${note.key}`);
    return (await this.#transaction.run(FIND, [feed, note.id, ...typeRange(note.type), this.#now]))[0];
  }

  /** The notes of a feed that are due. */
  async #sweep(open: OpenFeed, feed: Feed): Promise<readonly StoredNote[]> {
    const due = dueOf(feed, this.#dueBy, this.#keepDays);
    const values = [feed.key, this.#dueBy];
    const [expired, [next]] = await Promise.all([
      this.#transaction.run(EXPIRED, values),
      this.#transaction.run(NEXT_EXPIRY, values),
    ]);
    const oldest = needsOldest(due, expired) ? await this.#transaction.run(OLDEST, values) : [];
    const { rows, dueAt } = sweptRows(feed, due, { expired, oldest, nextExpiry: next?.expires_at ?? null });
    open.dueAt = dueAt;
    return rows;
  }

  /** If two run at once, the second waits with its own feed locked, which no other transaction waits for. */
  async #countLicensed(key: string, licenseId: string): Promise<number> {
    this.#transaction.send(LOCK_LICENSE, [licenseId]);
    const [others] = await this.#transaction.run(COUNT_LICENSED, [licenseId, key]);
    return others!.count;
  }

  async #presentOf(key: string, imported: readonly NewNote[]): Promise<Pick<State, 'present' | 'heldKeys'>> {
    const rows = await this.#transaction.run(PRESENT, [key, imported.map(({ id }) => id)]);
    const keys = imported.map(({ meta }) => meta.key).filter((one) => one !== undefined);
    return {
      present: new Set(rows.map(({ id, type }) => noteFile(id, NOTE_TYPES[type]!))),
      heldKeys: new Set(keys.filter((one) => this.#keyed.has(`${key} ${one}`))),
    };
  }

  async #hasFile(key: string, file: NoteFile): Promise<boolean> {
    const named = parseNoteFile(file);
    return named !== undefined && (await this.#find(key, named)) !== undefined;
  }
}

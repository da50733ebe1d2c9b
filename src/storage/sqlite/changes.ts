import type { Database } from 'better-sqlite3';
import type { AllowedFeed, Feed, FeedSettings } from '../../feeds/feed.ts';
import { isReservedReadId, randomReadId } from '../../feeds/ids.ts';
import {
  type FeedName,
  type NoteFile,
  type NoteId,
  noteFile,
  parseNoteFile,
  type ReadId,
} from '../../feeds/names.ts';
import type { NewNote, Note, NoteMeta } from '../../feeds/note.ts';
import { NOTE_TYPES, type NoteType } from '../../feeds/note-types.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import { settingsAsStored } from '../metadata.ts';
import {
  type Counts,
  countedIn,
  countOf,
  licenseTaken,
  limitsNow,
  NO_NOTES,
  type Room,
  readIdTaken,
  refuseBeyond,
  refusePicture,
  tooManyFeeds,
} from '../refused-writes.ts';
import { feedOf, insertedNote, isAllowed, metadataOf, metaOf, typeNumber } from '../rows.ts';
import type { FeedCreation, FeedLimits, NewLicense, Replacement, Target } from '../storage.ts';
import { type ChangeStatements, changeStatements, type OpenFeed } from './change-statements.ts';
import { NoteRows, type StoredNote } from './note-rows.ts';
import type { Pictures } from './pictures.ts';

/** The result of a write, and the read ids whose views are out of date if anything changed. */
export interface Changed<T> {
  readonly value: T;
  readonly readIds?: readonly ReadId[];
}

const NOTHING = { value: undefined };
/** Notes removed in one step; few, because a deletion reads all pages of a picture. */
const CLEARED_NOTES = 20;
const CLEARED_TAGS = 1_000;

/**
 * Every change of the database, each within a transaction that the caller begins and commits. See `Storage` for what
 * they do. A `Refusal` is thrown before anything is changed.
 */
export class Changes {
  readonly #maxFeeds: number;
  readonly #isLicenseValid: LicenseCheck | undefined;
  readonly #sql: ChangeStatements;
  readonly #notes: NoteRows;
  readonly #pictures: Pictures;
  #feeds = 0;
  /** Feeds as the transaction has left them so far; each is read once. */
  readonly #open = new Map<FeedName, OpenFeed>();
  /**
   * Feeds this transaction changed, with their result. Counts are written once, in `finish()`. All writes to one feed
   * share one result object, because structured clone sends a shared object once.
   */
  readonly #changedFeeds = new Map<OpenFeed, Changed<Feed>>();

  /** @param maxFeeds 0 is no limit */
  constructor(db: Database, pictures: Pictures, maxFeeds: number, isLicenseValid?: LicenseCheck) {
    this.#maxFeeds = maxFeeds;
    this.#isLicenseValid = isLicenseValid;
    this.#sql = changeStatements(db);
    this.#notes = new NoteRows(db);
    this.#pictures = pictures;
    this.recount();
  }

  /** Call it before each transaction. */
  begin(): void {
    this.#open.clear();
    this.#changedFeeds.clear();
  }

  /** Completes the results of all changes. Call it before the commit. */
  finish(): void {
    for (const [row, { value }] of this.#changedFeeds) {
      this.#sql.count.run(row.note_count, row.image_count, row.changed_at, row.id);
      Object.assign(value, feedOf(row));
    }
  }

  /** Call it after a rollback. */
  recount(): void {
    this.#feeds = this.#sql.countFeeds.get()!.count;
  }

  /**
   * As `Storage.post`; no notes make a feed.
   * @param following the notes to check against the limits instead of `notes`
   */
  post(
    name: FeedName,
    notes: readonly NewNote[],
    target: Target,
    limits?: FeedLimits,
    following: Room['notes'] = notes,
  ): Changed<Feed | undefined> {
    const found = this.#byName(name);
    const room = limits && { notes: following, limits };
    if (target.kind === 'new') return found ? NOTHING : this.#add(this.#make(name, target, room), notes);
    if (!found || found.password_hash !== (target.passwordHash ?? null)) return NOTHING;
    this.#refuseBeyond(room, found);
    return this.#add(found, notes);
  }

  replace(
    allowed: AllowedFeed,
    id: NoteId,
    { type, bytes, sha256, image, added = [] }: Replacement,
    limits: FeedLimits,
  ): Changed<Note | undefined> {
    const { feed, note } = this.#find(allowed, id);
    if (!feed || note?.type !== typeNumber(type)) return NOTHING;
    const limitsOfFeed = limitsNow(limits, feed.license, this.#isLicenseValid);
    refusePicture(type, limitsOfFeed);
    refuseBeyond({ notes: added, limits: limitsOfFeed }, countedIn(feed));
    this.#notes.replace(note.row, {
      content: bytes,
      size: image?.size ?? bytes.byteLength,
      sha256: sha256 ?? null,
      image_key: image?.key ?? null,
    });
    this.#pictures.freeKey(note.image_key);
    return { ...this.#add(feed, added), value: this.#notes.at(note.row) };
  }

  setMeta(allowed: AllowedFeed, id: NoteId, meta: NoteMeta): Changed<Note | undefined> {
    const { feed, note } = this.#find(allowed, id);
    if (!feed || !note) return NOTHING;
    this.#notes.setMetadata(note, metadataOf(meta, metaOf(note.metadata).others));
    return { ...this.#add(feed, []), value: this.#notes.at(note.row) };
  }

  remove(allowed: AllowedFeed, id: NoteId, wanted?: NoteType): Changed<boolean> {
    const { feed, note } = this.#find(allowed, id, wanted);
    if (!feed || !note) return { value: false };
    const type = NOTE_TYPES[note.type]!;
    this.#notes.remove(note);
    this.#pictures.freeKey(note.image_key);
    if (feed.image === noteFile(id, type)) {
      this.#sql.clearImage.run(feed.id);
      feed.image = null;
    }
    const { notes, images } = countOf([{ type }]);
    return { ...this.#count(feed, { notes: -notes, images: -images }), value: true };
  }

  configure(allowed: AllowedFeed, { readId, ...settings }: FeedSettings): Changed<Feed | undefined> {
    const feed = this.#feed(allowed);
    if (!feed) return NOTHING;
    if (readId !== feed.read_id && this.#sql.readIdHolder.get(readId)) throw readIdTaken();
    const { image, showSender, ...texts } = settingsAsStored(settings);
    const before = { ...feed };
    Object.assign(feed, {
      ...texts,
      read_id: readId,
      show_sender: Number(showSender),
      image: image !== undefined && this.#hasPicture(feed, image) ? image : null,
    });
    if (JSON.stringify(before) === JSON.stringify(feed)) return { value: feedOf(feed) };
    this.#sql.configure.run(feed);
    return this.#touch(feed, [before.read_id, readId]);
  }

  setPassword(allowed: AllowedFeed, passwordHash: string | undefined): Changed<boolean> {
    const feed = this.#feed(allowed);
    if (!feed) return { value: false };
    feed.password_hash = passwordHash ?? null;
    this.#sql.setPassword.run(feed.password_hash, feed.id);
    return { ...this.#touch(feed), value: true };
  }

  setLicense(allowed: AllowedFeed, license: NewLicense | undefined): Changed<Feed | undefined> {
    const feed = this.#feed(allowed);
    if (!feed) return NOTHING;
    if (license) {
      const { count } = this.#sql.countLicensed.get(license.id, feed.id)!;
      if (count >= license.feeds) throw licenseTaken(license.feeds);
    }
    feed.license = license?.text ?? null;
    this.#sql.setLicense.run(feed.license, license?.id ?? null, feed.id);
    return this.#touch(feed);
  }

  deleteFeed(allowed: AllowedFeed): Changed<boolean> {
    const feed = this.#feed(allowed);
    if (!feed) return { value: false };
    this.#sql.deleteFeed.run(feed.id);
    this.#open.delete(allowed.name);
    this.#feeds -= 1;
    return { value: true, readIds: [feed.read_id] };
  }

  /** Removes some notes of deleted feeds; false when none is left. */
  clearSome(): boolean {
    const feed = this.#sql.feedToClear.get();
    if (!feed) return false;
    if (this.#sql.clearTags.run(feed.id, CLEARED_TAGS).changes > 0) return true;
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

  /** @throws Refusal `taken`, `feed_limit`, as `refuseBeyond` */
  #make(
    name: FeedName,
    { readId = randomReadId(), passwordHash }: FeedCreation,
    room: Room | undefined,
  ): OpenFeed {
    if (isReservedReadId(readId, name)) this.#sql.freeReadId.run(randomReadId(), readId);
    if (this.#sql.readIdHolder.get(readId)) throw readIdTaken();
    if (this.#maxFeeds > 0 && this.#feeds >= this.#maxFeeds) throw tooManyFeeds();
    this.#refuseBeyond(room);
    this.#feeds += 1;
    const made = this.#sql.makeFeed.get({ name, readId, passwordHash: passwordHash ?? null })!;
    this.#open.set(name, made);
    return made;
  }

  #refuseBeyond(room: Room | undefined, feed?: OpenFeed): void {
    if (!room) return;
    const limits = limitsNow(room.limits, feed?.license, this.#isLicenseValid);
    refuseBeyond({ notes: room.notes, limits }, feed ? countedIn(feed) : NO_NOTES);
  }

  #byName(name: FeedName): OpenFeed | undefined {
    const known = this.#open.get(name);
    if (known) return known;
    const found = this.#sql.feedByName.get(name);
    if (found) this.#open.set(name, found);
    return found;
  }

  #feed(allowed: AllowedFeed): OpenFeed | undefined {
    const feed = this.#byName(allowed.name);
    return feed && isAllowed(feed, allowed) ? feed : undefined;
  }

  #find(
    allowed: AllowedFeed,
    id: NoteId,
    type?: NoteType,
  ): { feed?: OpenFeed | undefined; note?: StoredNote | undefined } {
    const feed = this.#feed(allowed);
    return { feed, note: feed && this.#notes.find(feed.id, id, type) };
  }

  #hasPicture(feed: OpenFeed, file: NoteFile): boolean {
    const named = parseNoteFile(file);
    const isPicture = named !== undefined && named.type !== 'md';
    return isPicture && this.#sql.noteOfType.get(feed.id, named.id, typeNumber(named.type)) !== undefined;
  }

  #add(feed: OpenFeed, notes: readonly NewNote[]): Changed<Feed> {
    for (const note of notes) this.#notes.insert(insertedNote(feed.id, note, Date.now()));
    return this.#count(feed, countOf(notes));
  }

  #touch(feed: OpenFeed, readIds: readonly ReadId[] = [feed.read_id]): Changed<Feed> {
    return { ...this.#count(feed, NO_NOTES), readIds: [...new Set(readIds)] };
  }

  /**
   * Counts added or removed notes, and the change of the feed. Each change has a later date, so all changes of a transaction
   * are one, because many at once would date the feed ahead of the clock.
   */
  #count(feed: OpenFeed, { notes, images }: Readonly<Counts>): Changed<Feed> {
    feed.note_count += notes + images;
    feed.image_count += images;
    const known = this.#changedFeeds.get(feed);
    if (known) return known;
    feed.changed_at = Math.max(feed.changed_at + 1, Date.now());
    const changed = { value: feedOf(feed), readIds: [feed.read_id] };
    this.#changedFeeds.set(feed, changed);
    return changed;
  }
}

import type { Database } from 'better-sqlite3';
import { dateOfId } from '../../feeds/ids.ts';
import {
  type FeedName,
  type NoteFile,
  type NoteId,
  noteFile,
  parseNoteFile,
  type ReadId,
} from '../../feeds/names.ts';
import { NOTE_TYPES, type NoteType } from '../../feeds/note-types.ts';
import { randomReadId } from '../../feeds/read-ids.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import { settingsAsStored } from '../metadata.ts';
import {
  metadataOf,
  metaOf,
  noteOf,
  placeOfBytes,
  typeNumber,
  typeRange,
  wholeMetaOf,
} from '../note-columns.ts';
import {
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
import type {
  AllowedFeed,
  Feed,
  FeedCreation,
  FeedLimits,
  FeedSettings,
  NewLicense,
  NewNote,
  Note,
  NoteMeta,
  Replacement,
  Target,
} from '../storage.ts';
import { type ChangeStatements, changeStatements, type StoredNote } from './change-statements.ts';
import type { PictureChanges } from './picture-changes.ts';
import { type FeedRow, feedOf } from './rows.ts';

/** What a write came to, and the read ids whose views are out of date with it: none when nothing changed. */
export interface Changed<T> {
  readonly value: T;
  readonly readIds?: readonly ReadId[];
}

const NOTHING = { value: undefined };
/** Notes cleared away in one step; a deletion reads all of a picture's pages. */
const CLEARED_NOTES = 20;
const CLEARED_TAGS = 1_000;

/**
 * Every change of the database, each within a transaction that the caller begins and commits. See `Storage` for what
 * they do. A `Refusal` is thrown before anything is changed.
 */
export class Changes {
  readonly #maxFeeds: number;
  readonly #licenseCounts: LicenseCheck | undefined;
  readonly #sql: ChangeStatements;
  readonly #pictures: PictureChanges;
  #feeds = 0;
  /** Feeds as the transaction has them so far: each is read once. */
  readonly #open = new Map<FeedName, FeedRow>();
  /**
   * Those that it has changed. Their counts are written once, when all else is done; and all writes of one feed give
   * the same value, for what is the same goes to the other thread once.
   */
  readonly #left = new Map<FeedRow, Changed<Feed>>();

  /**
   * @param maxFeeds 0 is no limit
   * @param licenseCounts see `limitsNow`
   */
  constructor(db: Database, pictures: PictureChanges, maxFeeds: number, licenseCounts?: LicenseCheck) {
    this.#maxFeeds = maxFeeds;
    this.#licenseCounts = licenseCounts;
    this.#sql = changeStatements(db);
    this.#pictures = pictures;
    this.recount();
  }

  /** To be called before each transaction. */
  begin(): void {
    this.#open.clear();
    this.#left.clear();
  }

  /** To be called when all changes of a transaction are made, before it is committed. What they gave is true then. */
  finish(): void {
    for (const [row, { value }] of this.#left) {
      this.#sql.count.run(row.note_count, row.image_count, row.changed_at, row.id);
      Object.assign(value, feedOf(row));
    }
  }

  /** To be called after a transaction was taken back. */
  recount(): void {
    this.#feeds = this.#sql.countFeeds.get()!.count;
  }

  post(
    name: FeedName,
    notes: readonly NewNote[],
    target: Target,
    limits: FeedLimits,
  ): Changed<Feed | undefined> {
    const found = this.#byName(name);
    const room = { notes, limits };
    if (target.kind === 'new') return found ? NOTHING : this.#add(this.#make(name, target, room), notes);
    if (!found || found.password_hash !== (target.passwordHash ?? null)) return NOTHING;
    refuseBeyond({ notes, limits: this.#limitsOf(found, limits) }, countedIn(found));
    return this.#add(found, notes);
  }

  /** @param room of notes that are to come */
  create(name: FeedName, creation: FeedCreation, room?: Room): Changed<Feed | undefined> {
    if (this.#byName(name)) return NOTHING;
    return this.#count(this.#make(name, creation, room), 0, 0);
  }

  replace(
    allowed: AllowedFeed,
    id: NoteId,
    { type, bytes, sha256, image, added = [] }: Replacement,
    limits: FeedLimits,
  ): Changed<Note | undefined> {
    const { feed, note } = this.#find(allowed, id);
    if (!feed || note?.type !== typeNumber(type)) return NOTHING;
    const limitsOfFeed = this.#limitsOf(feed, limits);
    refusePicture(type, limitsOfFeed);
    refuseBeyond({ notes: added, limits: limitsOfFeed }, countedIn(feed));
    this.#sql.replace.run({
      row: note.row,
      bytes,
      ...placeOfBytes({ bytes, image }),
      sha256: sha256 ?? null,
      now: Date.now(),
    });
    this.#pictures.freed(note.image_key);
    return { ...this.#add(feed, added), value: this.#noteAt(note.row) };
  }

  setMeta(allowed: AllowedFeed, id: NoteId, meta: NoteMeta): Changed<Note | undefined> {
    const { feed, note } = this.#find(allowed, id);
    if (!feed || !note) return NOTHING;
    const metadata = metadataOf(meta, wholeMetaOf(note.metadata).others);
    this.#removeTags(feed, id, note);
    this.#sql.setMetadata.run(metadata, note.row);
    this.#addTags(feed.id, id, { ...note, metadata });
    return { ...this.#add(feed, []), value: this.#noteAt(note.row) };
  }

  remove(allowed: AllowedFeed, id: NoteId, wanted?: NoteType): Changed<boolean> {
    const { feed, note } = this.#find(allowed, id, wanted);
    if (!feed || !note) return { value: false };
    const type = NOTE_TYPES[note.type]!;
    this.#removeTags(feed, id, note);
    this.#sql.removeNote.run(note.row);
    this.#pictures.freed(note.image_key);
    if (feed.image === noteFile(id, type)) {
      this.#sql.clearImage.run(feed.id);
      feed.image = null;
    }
    const { notes, images } = countOf([{ type }]);
    return { ...this.#count(feed, -notes, -images), value: true };
  }

  configure(allowed: AllowedFeed, { readId, ...settings }: FeedSettings): Changed<Feed | undefined> {
    const feed = this.#feed(allowed);
    if (!feed) return NOTHING;
    if (readId !== feed.read_id && this.#sql.readIdHolder.get(readId)) throw readIdTaken();
    const { title, description, showSender, image } = settingsAsStored(settings);
    const before = feed.read_id;
    const wanted = {
      read_id: readId,
      title,
      description,
      show_sender: showSender ? 1 : 0,
      image: image !== undefined && this.#hasPicture(feed, image) ? image : null,
    };
    if (sameSettings(wanted, feed)) return { value: feedOf(feed) };
    this.#sql.configure.run({ ...wanted, id: feed.id });
    Object.assign(feed, wanted);
    return this.#touched(feed, [before, readId]);
  }

  setPassword(allowed: AllowedFeed, passwordHash: string | undefined): Changed<boolean> {
    const feed = this.#feed(allowed);
    if (!feed) return { value: false };
    feed.password_hash = passwordHash ?? null;
    this.#sql.setPassword.run(feed.password_hash, feed.id);
    return { ...this.#touched(feed, [feed.read_id]), value: true };
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
    return this.#touched(feed, [feed.read_id]);
  }

  deleteFeed(allowed: AllowedFeed): Changed<boolean> {
    const feed = this.#feed(allowed);
    if (!feed) return { value: false };
    this.#sql.deleteFeed.run(feed.id);
    this.#open.delete(allowed.name);
    this.#feeds -= 1;
    return { value: true, readIds: [feed.read_id] };
  }

  /** Clears away some of what deleted feeds have left; false when nothing is left. */
  clearSome(): boolean {
    const feed = this.#sql.feedToClear.get();
    if (!feed) return false;
    if (this.#sql.clearTags.run(feed.id, CLEARED_TAGS).changes > 0) return true;
    const cleared = this.#sql.clearNotes.all(feed.id, CLEARED_NOTES);
    for (const { image_key } of cleared) this.#pictures.freed(image_key);
    if (cleared.length === 0) this.#sql.cleared.run(feed.id);
    return true;
  }

  /** See `TokenSeries`. Series that are over at `now` are forgotten. */
  useToken(series: string, place: number, until: number, now: number): boolean {
    this.#sql.forgetSeries.run(now);
    return this.#sql.useToken.get({ series, place, until })!.turn > 0;
  }

  /** @throws Refusal `taken`, `feed_limit`, as `refuseBeyond` */
  #make(
    name: FeedName,
    { readId = randomReadId(), passwordHash }: FeedCreation,
    room: Room | undefined,
  ): FeedRow {
    if (this.#sql.readIdHolder.get(readId)) throw readIdTaken();
    if (this.#maxFeeds > 0 && this.#feeds >= this.#maxFeeds) throw tooManyFeeds();
    if (room) refuseBeyond({ ...room, limits: this.#limitsOf(undefined, room.limits) }, NO_NOTES);
    this.#feeds += 1;
    const made = this.#sql.makeFeed.get({
      name,
      readId,
      passwordHash: passwordHash ?? null,
    })!;
    this.#open.set(name, made);
    return made;
  }

  #limitsOf(feed: FeedRow | undefined, limits: FeedLimits): FeedLimits {
    return limitsNow(limits, feed?.license, this.#licenseCounts);
  }

  #byName(name: FeedName): FeedRow | undefined {
    const known = this.#open.get(name);
    if (known) return known;
    const found = this.#sql.feedByName.get(name);
    if (found) this.#open.set(name, found);
    return found;
  }

  #feed({ name, key, passwordHash }: AllowedFeed): FeedRow | undefined {
    const feed = this.#byName(name);
    const isAllowed = feed && String(feed.id) === key && feed.password_hash === (passwordHash ?? null);
    return isAllowed ? feed : undefined;
  }

  #find(
    allowed: AllowedFeed,
    id: NoteId,
    type?: NoteType,
  ): { feed?: FeedRow | undefined; note?: StoredNote | undefined } {
    const feed = this.#feed(allowed);
    const [least, most] = typeRange(type);
    return { feed, note: feed && this.#sql.note.get(feed.id, id, least, most) };
  }

  #hasPicture(feed: FeedRow, file: NoteFile): boolean {
    const named = parseNoteFile(file);
    const isPicture = named !== undefined && named.type !== 'md';
    return isPicture && this.#sql.noteOfType.get(feed.id, named.id, typeNumber(named.type)) !== undefined;
  }

  #add(feed: FeedRow, notes: readonly NewNote[]): Changed<Feed> {
    for (const note of notes) this.#insert(feed.id, note);
    const { notes: texts, images } = countOf(notes);
    return this.#count(feed, texts, images);
  }

  #insert(feed: number, { id, type: noteType, meta, bytes, sha256, image }: NewNote): void {
    const now = Date.now();
    const [type, metadata, createdAt] = [typeNumber(noteType), metadataOf(meta), dateOfId(id) ?? now];
    const { size, key } = placeOfBytes({ bytes, image });
    const { lastInsertRowid } = this.#sql.insert.run(
      feed,
      id,
      type,
      createdAt,
      now,
      metadata,
      sha256 ?? null,
      size,
      bytes,
      key,
    );
    this.#addTags(feed, id, {
      row: Number(lastInsertRowid),
      type,
      created_at: createdAt,
      metadata,
      image_key: key,
    });
  }

  #addTags(feed: number, id: NoteId, { row, type, created_at, metadata }: StoredNote): void {
    for (const tag of tagsOf(metadata)) this.#sql.addTag.run(feed, tag, created_at, id, type, row);
  }

  #removeTags(feed: FeedRow, id: NoteId, { type, created_at, metadata }: StoredNote): void {
    for (const tag of tagsOf(metadata)) this.#sql.removeTag.run(feed.id, tag, created_at, id, type);
  }

  #noteAt(row: number): Note {
    return noteOf(this.#sql.noteAt.get(row)!);
  }

  #touched(feed: FeedRow, readIds: readonly ReadId[]): Changed<Feed> {
    return { ...this.#count(feed, 0, 0), readIds: [...new Set(readIds)] };
  }

  /**
   * Counts notes that came or went, and with that the change itself. A feed is never dated twice the same; what a
   * transaction makes of it is one change, or many at once would date it ahead of the clock.
   */
  #count(feed: FeedRow, texts: number, images: number): Changed<Feed> {
    feed.note_count += texts + images;
    feed.image_count += images;
    if (!this.#left.has(feed)) feed.changed_at = Math.max(feed.changed_at + 1, Date.now());
    return this.#changed(feed);
  }

  #changed(feed: FeedRow): Changed<Feed> {
    const known = this.#left.get(feed);
    if (known) return known;
    const changed = { value: feedOf(feed), readIds: [feed.read_id] };
    this.#left.set(feed, changed);
    return changed;
  }
}

function tagsOf(metadata: string | null): readonly string[] {
  return metadata === null ? [] : metaOf(metadata).tags;
}

type SettingsRow = Pick<FeedRow, 'read_id' | 'title' | 'description' | 'show_sender' | 'image'>;

function sameSettings(a: SettingsRow, b: SettingsRow): boolean {
  const shown = ({ read_id, title, description, show_sender, image }: SettingsRow) =>
    JSON.stringify([read_id, title, description, show_sender, image]);
  return shown(a) === shown(b);
}

import type { Feed } from '../feeds/feed.ts';
import { dateOfId, isReservedReadId } from '../feeds/ids.ts';
import { type FeedName, type NoteFile, noteFile, parseNoteFile, type ReadId } from '../feeds/names.ts';
import {
  contentSize,
  isExpired,
  type NewNote,
  type Note,
  type NoteContent,
  type NoteMeta,
} from '../feeds/note.ts';
import { refuseAlt } from '../feeds/text.ts';
import type { LicenseCheck } from '../licenses/licenses.ts';
import { Refusal } from '../refusals.ts';
import {
  type Command,
  type Configure,
  contentsOf,
  type Describe,
  type ExistingFeed,
  type Import,
  mainNote,
  type NewFeed,
  type NewLicense,
  type Post,
} from './command.ts';
import { feedEtag, noteEtag, refuseUnlessMatching } from './etags.ts';
import { type FeedLimits, limitsOf, type Room, refuseBeyond, refuseBytes, refusePicture } from './limits.ts';

/** Limits of the instance; 0 is no limit. */
export interface InstanceLimits {
  /** The most feeds there may be. */
  readonly maxFeeds: number;
  /** The most bytes that the notes of all feeds may have. */
  readonly maxBytes: number;
  /** The days that any feed keeps its notes. */
  readonly keepDays: number;
}

/** Settings of the instance that decide about writes. */
export interface WritingRules extends InstanceLimits {
  /** Checks licenses; undefined if none is needed. */
  readonly isLicenseValid: LicenseCheck | undefined;
}

/** What is there when a command is decided. The storage keeps it so until the effects are stored. */
export interface State {
  /** Ms since the epoch. */
  readonly now: number;
  /** The feed that has the command's name, with all decided before. */
  readonly feed: Feed | undefined;
  /** The note that the command names. */
  readonly note?: Note | undefined;
  /**
   * The name of the feed that has the read id that the command chooses; null for a deleted feed, which keeps its read id;
   * undefined if the read id is free.
   */
  readonly readIdHolder?: FeedName | null | undefined;
  /** How many feeds there are; asked for a new feed only. */
  readonly feeds?: number;
  /** How many bytes the notes of all feeds have; needed only if there is a limit (`WritingRules.maxBytes`). */
  readonly bytes?: number;
  /** The operator has closed the name; asked for a new feed only. */
  readonly isNameBlocked?: boolean;
  /** SHA-256 of pictures that the operator has closed; asked for those of the command only. */
  readonly blockedPictures?: ReadonlySet<string>;
  /** The number of other feeds that have a license with the id of the command's license. */
  readonly licensed?: number;
  /** Whether the feed has the file that the command chooses as title image. */
  readonly hasImage?: boolean;
  /** The files of notes to be imported that are there. */
  readonly present?: ReadonlySet<NoteFile>;
  /** Keys of notes to be imported that other notes have. */
  readonly heldKeys?: ReadonlySet<string>;
  /** Notes that are to be removed (`dueOf`), at most `SWEPT_NOTES` of them; looked up for a `Sweep`. */
  readonly due?: readonly Note[];
}

/** What a write stores. */
export interface Effects {
  readonly fate: 'made' | 'changed' | 'unchanged' | 'deleted';
  /** The feed afterwards, but for key, date and version, which the storage gives; of a deleted one as it was. */
  readonly feed: Feed;
  readonly added: readonly NewNote[];
  /** What becomes of the note that the command names. */
  readonly edit?: NoteEdit | undefined;
  /**
   * That note as it is afterwards; a removed one as it was. Of a post, the note that had its key before, or its own picture,
   * because only the storage knows its date. Undefined for its own text, which is as it was sent: that saves a copy.
   */
  readonly note?: Note | undefined;
  /** Notes that are removed besides, by a `Sweep`. */
  readonly removed?: readonly Note[] | undefined;
  /** What became of each note of an `Import`. */
  readonly outcomes?: readonly ImportOutcome[] | undefined;
  /** Read ids whose views are out of date. */
  readonly readIds: readonly ReadId[];
  /** The chosen read id is one that a deleted feed of the same name left. */
  readonly reclaimsReadId?: boolean;
}

/** A note that was stored, that is there already, or that is refused. */
export type ImportOutcome = 'stored' | 'skipped' | Pick<Refusal, 'code' | 'message'>;

export interface NoteEdit {
  readonly before: Note;
  /** Undefined if the note is removed. Its metadata have to be stored only if `meta` is another object than before. */
  readonly after: Note | undefined;
  /** New bytes. */
  readonly content?: NoteContent | undefined;
}

const SETTINGS = [
  'readId',
  'passwordHash',
  'title',
  'description',
  'showSender',
  'listed',
  'image',
  'license',
  'keepDays',
  'keepNotes',
] as const satisfies readonly (keyof Feed)[];

/** Commands that a blocked feed refuses. Its notes can still be removed, and its password changed. */
const ADDING: ReadonlySet<Command['kind']> = new Set(['post', 'import', 'replace', 'describe', 'configure']);

const NEW_FEED = {
  key: '',
  title: '',
  description: '',
  showSender: true,
  listed: false,
  image: undefined,
  license: undefined,
  keepDays: undefined,
  keepNotes: undefined,
  changedAt: 0,
  version: '',
  noteCount: 0,
  imageCount: 0,
  byteCount: 0,
  isBlocked: false,
} satisfies Partial<Feed>;

/**
 * What a command does: every rule of writing that depends on what is stored. Undefined if the feed is not the one that the
 * command is for, or there is no such note.
 * @throws Refusal `taken`, `feed_limit`; `blocked`, for a picture with its `position` among those of the command; `images_off`,
 * `license_required`, `note_limit`, `image_limit`, `byte_limit` with the `position` of the first new note that does not fit;
 * `unsupported_type` for bytes of another type than the note's; `invalid_request` for an alternative text of a markdown note, and
 * for a title image that the feed does not have; `changed`; `key_reused`
 */
export function decide(command: Command, state: State, rules: WritingRules): Effects | undefined {
  const { feed } = state;
  // Notes of an import are refused one by one.
  if (command.kind !== 'import') refuseBlocked(contentsOf(command), state);
  if (command.target.kind === 'new')
    return feed ? undefined : decideNew(command as Post | Import, command.target, state, rules);
  if (!feed || !isMeant(feed, command.target)) return undefined;
  if (feed.isBlocked && ADDING.has(command.kind)) throw nameBlocked();
  if (command.kind === 'post') return decidePost(command, feed, state, rules);
  if (!('id' in command)) refuseUnlessMatching(command.ifMatch, () => feedEtag(feed));
  switch (command.kind) {
    case 'configure':
      return decideSettings(feed, command, state);
    case 'import':
      return decideImport(feed, command, state, rules);
    case 'sweep':
      return decideSweep(feed, state.due ?? []);
    case 'set password':
      return changed(feed, { ...feed, passwordHash: command.passwordHash });
    case 'set license':
      return changed(feed, { ...feed, license: attachable(command.license, state) });
    case 'delete':
      return { fate: 'deleted', feed, added: [], readIds: [feed.readId] };
    default:
      return decideEdit(command, feed, state, rules);
  }
}

function decidePost(
  { notes, limits, replaces }: Post,
  feed: Feed,
  state: State,
  rules: WritingRules,
): Effects {
  const { note: holder, now } = state;
  const limitsNow = roomOf(limits, feed, state, rules);
  const posted = mainNote(notes);
  if (posted === undefined || holder === undefined || isExpired(holder, now)) {
    // Two notes never have one key, also if one of them has expired.
    const before = holder ? without(feed, [holder]) : feed;
    const edit = holder && { before: holder, after: undefined };
    const added = attached(notes, posted);
    const effects = changed(feed, withNotes(before, notes, limitsNow), added, edit);
    return { ...effects, note: ownPicture(posted, now) };
  }
  if (!replaces) {
    if (holder.meta.posted === undefined || holder.meta.posted.hash !== posted.meta.posted?.hash)
      throw new Refusal(
        'key_reused',
        'This key was used for another note, which was posted with other contents.',
      );
    return { ...unchanged(feed), note: holder };
  }
  const others = notes.filter((note) => note !== posted);
  return replacement(feed, holder, { content: posted, meta: posted.meta, others, now }, limitsNow);
}

function decideImport(feed: Feed, { notes, limits }: Import, state: State, rules: WritingRules): Effects {
  const { present, heldKeys } = state;
  const room = roomOf(limits, feed, state, rules);
  const keys = new Set(heldKeys);
  const added: NewNote[] = [];
  let after = feed;
  const store = (note: NewNote): ImportOutcome => {
    const { key } = note.meta;
    if (present?.has(noteFile(note.id, note.type))) return 'skipped';
    try {
      refuseBlocked([note], state);
      if (key !== undefined && keys.has(key)) throw new Refusal('key_reused', 'Another note has its key.');
      const instanceBytes = room.instanceBytes - (after.byteCount - feed.byteCount);
      after = withNotes(after, [note], { ...room, instanceBytes });
    } catch (error) {
      if (error instanceof Refusal) return { code: error.code, message: error.message };
      throw error;
    }
    if (key !== undefined) keys.add(key);
    added.push(note);
    return 'stored';
  };
  const outcomes = notes.map(store);
  return { ...(added.length > 0 ? changed(feed, after, added) : unchanged(feed)), outcomes };
}

function decideNew(
  command: Post | Import,
  { readId, passwordHash }: NewFeed,
  state: State,
  rules: WritingRules,
): Effects {
  const { name, notes, limits } = command;
  const { readIdHolder, feeds = 0, now } = state;
  if (state.isNameBlocked) throw nameBlocked();
  const reclaimsReadId = readIdHolder === null && isReservedReadId(readId, name);
  if (readIdHolder !== undefined && !reclaimsReadId) throw readIdTaken();
  if (rules.maxFeeds > 0 && feeds >= rules.maxFeeds)
    throw new Refusal('feed_limit', 'This instance has as many feeds as it may have.');
  const feed: Feed = { ...NEW_FEED, name, readId, passwordHash };
  if (command.kind === 'import') {
    const imported = decideImport(feed, command, state, rules);
    const [first] = imported.outcomes!;
    if (imported.added.length === 0 && typeof first === 'object')
      throw new Refusal(first.code, first.message, { position: 0 });
    return { ...imported, fate: 'made', reclaimsReadId };
  }
  const withAll = withNotes(feed, notes, roomOf(limits, feed, state, rules));
  const posted = mainNote(notes);
  const note = ownPicture(posted, now);
  return { ...changed(feed, withAll, attached(notes, posted)), fate: 'made', note, reclaimsReadId };
}

function decideEdit(
  command: Extract<Command, { readonly id: unknown }>,
  feed: Feed,
  state: State,
  rules: WritingRules,
): Effects | undefined {
  const { note, now } = state;
  if (!note || isExpired(note, now)) return undefined;
  refuseUnlessMatching(command.ifMatch, () => noteEtag(note, feed));
  switch (command.kind) {
    case 'replace': {
      const { content, pixels, describe, notes, limits } = command;
      const limitsNow = roomOf(limits, feed, state, rules);
      const { pixels: _, ...others } = describe ? described(note, describe, now) : note.meta;
      const meta = pixels ? { ...others, pixels } : others;
      return replacement(feed, note, { content, meta, others: notes, now }, limitsNow);
    }
    case 'describe':
      return changed(feed, feed, [], {
        before: note,
        after: { ...note, meta: described(note, command.meta, now) },
      });
    default:
      return changed(feed, without(feed, [note]), [], { before: note, after: undefined });
  }
}

interface Replacement {
  readonly content: NoteContent;
  readonly meta: NoteMeta;
  /** New notes that come with it. */
  readonly others: readonly NewNote[];
  readonly now: number;
}

function replacement(
  feed: Feed,
  note: Note,
  { content, meta, others, now }: Replacement,
  limits: Room,
): Effects {
  if (note.type !== content.type)
    throw new Refusal('unsupported_type', 'A note can only be replaced by one of the same type.');
  refusePicture(content.type, limits);
  // Two versions of a file never have the same time, because it tells a reader which one it is.
  const modifiedAt = Math.max(note.modifiedAt + 1, now);
  const after = { ...note, ...storedContent(content), modifiedAt, meta: { ...meta, edited: now } };
  const added = attached(others, note);
  const withOthers = withNotes(feed, others, limits);
  const more = withOthers.byteCount - feed.byteCount + after.size - note.size;
  refuseBytes(limits, feed, more);
  const feedAfter = { ...withOthers, byteCount: feed.byteCount + more };
  return changed(feed, feedAfter, added, { before: note, after, content });
}

/** The notes with `attachedTo` set in the pictures that came with a text. */
function attached(
  notes: readonly NewNote[],
  text: Pick<Note, 'id' | 'type'> | undefined,
): readonly NewNote[] {
  if (text?.type !== 'md') return notes;
  const attachedTo = text.id;
  return notes.map((note) => (note.type === 'md' ? note : { ...note, meta: { ...note.meta, attachedTo } }));
}

function decideSweep(feed: Feed, due: readonly Note[]): Effects {
  if (due.length === 0) return unchanged(feed);
  return { ...changed(feed, without(feed, due)), removed: due };
}

function ownPicture(note: NewNote | undefined, now: number): Note | undefined {
  if (note === undefined || note.type === 'md') return undefined;
  const { id, type, meta } = note;
  return { id, type, meta, createdAt: dateOfId(id) ?? now, modifiedAt: now, ...storedContent(note) };
}

function storedContent(content: NoteContent): Pick<Note, 'size' | 'content'> {
  // A copy, because the buffer is reused.
  const text = content.type === 'md' ? new Uint8Array(content.bytes) : undefined;
  return { size: contentSize(content), content: text };
}

function decideSettings(
  feed: Feed,
  { settings, maxNotes = Infinity }: Configure,
  { readIdHolder, hasImage }: State,
): Effects {
  if (feed.noteCount > maxNotes) throw new Refusal('changed', 'The feed has other notes by now.');
  const { readId = feed.readId, image = feed.image } = settings;
  if (image !== feed.image && !(hasImage && isPicture(image!)))
    throw new Refusal('invalid_request', 'image must be the file of a picture note of this feed.');
  if (readId !== feed.readId && readIdHolder !== undefined) throw readIdTaken();
  const after = { ...feed, ...settings };
  const isSame = Object.keys(settings).every((key) => after[key as keyof Feed] === feed[key as keyof Feed]);
  return isSame ? unchanged(feed) : changed(feed, after);
}

/** The license, if it may serve one feed more. */
function attachable(license: NewLicense | undefined, { licensed = 0 }: State): Feed['license'] {
  if (license === undefined) return undefined;
  const { text, id, feeds } = license;
  if (licensed < feeds) return { text, id };
  const used = feeds === 1 ? 'another feed' : `${feeds} other feeds`;
  throw new Refusal('taken', `This license is in use by ${used}: detach it there first.`);
}

function described(
  { type, meta }: Note,
  { title, alt, tags, expires }: Describe['meta'],
  now: number,
): NoteMeta {
  refuseAlt(type, alt);
  const after = {
    ...meta,
    title: (title ?? meta.title) || undefined,
    alt: (alt ?? meta.alt) || undefined,
    tags: tags ?? meta.tags,
    expires: (expires ?? meta.expires) || undefined,
  };
  const isSame =
    after.title === meta.title && after.alt === meta.alt && after.tags.join() === meta.tags.join();
  return isSame ? after : { ...after, edited: now };
}

function roomOf(limits: FeedLimits, feed: Feed, { bytes = 0 }: State, rules: WritingRules): Room {
  const { maxBytes } = rules;
  const instanceBytes = maxBytes === 0 ? Number.POSITIVE_INFINITY : maxBytes - bytes;
  return { ...limitsOf(limits, feed, rules.isLicenseValid), instanceBytes };
}

function isMeant({ key, readId, passwordHash }: Feed, target: ExistingFeed): boolean {
  const isOther = target.key !== undefined && target.key !== key;
  const hasOtherLinks = target.readId !== undefined && target.readId !== readId;
  return !isOther && !hasOtherLinks && target.passwordHash === passwordHash;
}

function isPicture(file: NoteFile): boolean {
  const named = parseNoteFile(file);
  return named !== undefined && named.type !== 'md';
}

function withNotes(feed: Feed, notes: readonly NewNote[], room: Room): Feed {
  refuseBeyond(room, feed, notes);
  return counted(feed, notes.map(contentOf), 1);
}

/** The feed without some of its notes; a removed picture is the title image no more. */
function without(feed: Feed, notes: readonly Note[]): Feed {
  const isImageGone = notes.some(({ id, type }) => feed.image === noteFile(id, type));
  return counted(isImageGone ? { ...feed, image: undefined } : feed, notes, -1);
}

function contentOf(note: NewNote): Pick<Note, 'type' | 'size'> {
  return { type: note.type, size: contentSize(note) };
}

function counted(feed: Feed, notes: readonly Pick<Note, 'type' | 'size'>[], each: 1 | -1): Feed {
  const images = notes.filter(({ type }) => type !== 'md').length;
  const bytes = notes.reduce((sum, { size }) => sum + size, 0);
  return {
    ...feed,
    noteCount: feed.noteCount + each * notes.length,
    imageCount: feed.imageCount + each * images,
    byteCount: feed.byteCount + each * bytes,
  };
}

function unchanged(feed: Feed): Effects {
  return { fate: 'unchanged', feed, added: [], readIds: [] };
}

function changed(before: Feed, feed: Feed, added: readonly NewNote[] = [], edit?: NoteEdit): Effects {
  const readIds = before.readId === feed.readId ? [feed.readId] : [before.readId, feed.readId];
  return { fate: 'changed', feed, added, edit, note: edit && (edit.after ?? edit.before), readIds };
}

/** The refusal of what would add something to a name that the operator has closed. */
export function nameBlocked(): Refusal {
  return new Refusal('blocked', 'The operator has closed this feed: it takes nothing more.');
}

/** @throws Refusal `blocked` for the first picture that the operator has closed */
function refuseBlocked(contents: readonly NoteContent[], { blockedPictures }: State): void {
  if (!blockedPictures?.size) return;
  const pictures = contents.filter(({ type }) => type !== 'md');
  const position = pictures.findIndex(({ sha256 = '' }) => blockedPictures.has(sha256));
  if (position !== -1) throw pictureBlocked(position);
}

/** @param position of the picture among those of the command */
export function pictureBlocked(position: number): Refusal {
  return new Refusal('blocked', 'The operator has removed this picture: it is not taken again.', {
    status: 451,
    position,
  });
}

function readIdTaken(): Refusal {
  return new Refusal('taken', 'This read id belongs, or once belonged, to another feed.');
}

/** Whether more of a feed changes than its counts. */
export function changesSettings(before: Feed, after: Feed): boolean {
  return SETTINGS.some((member) => before[member] !== after[member]);
}

import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Feed } from '../../feeds/feed.ts';
import { type FeedName, isReadId, noteFile, type ReadId } from '../../feeds/names.ts';
import { isExpired, type Note } from '../../feeds/note.ts';
import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { type Command, type Lookups, lookupsOf } from '../../writing/command.ts';
import {
  changesSettings,
  decide,
  type Effects,
  type State,
  type WritingRules,
} from '../../writing/decide.ts';
import { dueOf } from '../../writing/due.ts';
import { isDiskFull } from '../failures.ts';
import type { KeyedLock } from '../keyed-lock.ts';
import { NO_META } from '../metadata.ts';
import type { OperatorRecords } from '../operator-records.ts';
import type { Written } from '../storage.ts';
import { dueNotes } from './due-notes.ts';
import type { FileWriter } from './durable.ts';
import { asRefusal, isGone, refuse, unavailable } from './failures.ts';
import type { FeedIndex } from './feed-index.ts';
import { readMark } from './find-marks.ts';
import { IndexedFeed } from './indexed-feed.ts';
import type { RetiredReadIds } from './line-files.ts';
import { hasFile, type NamedNote, presentOf, withHolder, withNote } from './look-ups.ts';
import type { MarkKeeper } from './mark-keeper.ts';
import { marksOf } from './marks.ts';
import { isFileOfNote, RETIRED_FILE } from './names.ts';
import { findAgain, isThere } from './read-file.ts';
import { type FeedFiles, logOfFeed, readFeedFiles, readSettingsFile } from './read-metadata.ts';
import { RECORD_LINES } from './record-lines.ts';
import type { Removals } from './removals.ts';
import { scanFeed } from './scan.ts';
import { folderIdentity, type Stamp } from './stamp.ts';
import {
  editedEntry,
  entriesOf,
  feedChanges,
  feedParts,
  noteChanges,
  noteParts,
  removalChanges,
  settingsOf,
} from './written-files.ts';

/** Members of a note that a sweep does not need, and so does not read. */
const UNREAD = { size: 0, modifiedAt: 0, meta: NO_META.meta, content: undefined };

/** Shared by all writes. */
export interface WriteParts {
  readonly dir: string;
  readonly index: FeedIndex;
  readonly writer: FileWriter;
  /**
   * Posts and sweeps share the feed of a name; whatever else changes it, or makes it, or looks at it again, is alone with it.
   * Other keys are names of files in the data folder, ids of licenses, and, behind the name of a feed and a `/`, keys of notes.
   */
  readonly locks: KeyedLock<string>;
  readonly records: Pick<OperatorRecords, 'find'>;
  readonly retired: RetiredReadIds;
  readonly removals: Pick<Removals, 'remove'>;
  readonly keeper: Pick<MarkKeeper, 'whenMarked'>;
  readonly rules: WritingRules;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Called with the name of every feed that the service makes. */
  onMade(name: FeedName): void;
  /** Called with the name of a feed that was not as the index has it, so the watch is to report it again: a folder that is gone may come back. */
  onLost(name: FeedName): void;
}

interface WrittenFiles {
  /** The states of new files by name. */
  readonly stampOf: ReadonlyMap<string, Stamp | undefined>;
  /** The dot files, if one changed. */
  readonly files: FeedFiles | undefined;
}

/**
 * Notes removed in one write. Removing 100 multiplies the p99 of posts by 3.1, removing 20 by 2.4, and removing 8 by 1.6
 * (`bench/expiry.ts`).
 */
const SWEPT_FILES = 8;

/** The answer of a step that has done nothing, because it has to be alone with the feed. */
const AGAIN = 'again';

/** What a step decides by, besides the feed and its note. */
type StateOfStep = Omit<State, 'feed' | 'note'>;

/** The result of a step. */
interface Done {
  readonly written: Written;
  /** The folder that remains to be removed after a deletion. */
  readonly left?: string;
  /** To be done before that folder goes: retires the read id of the feed, if there was no room for that before. */
  readonly last?: (() => Promise<void>) | undefined;
}

/**
 * See `Storage.write`. Posts to a feed run beside each other, because a batch that begins when the last is over posts half as
 * many notes a second. A step must not read notes with `NoteReader`, which may wait for a step. A crash in the middle of a
 * change of settings can leave the others changed and the read id not; after one before a folder is renamed the feed is
 * there, but its read id stays retired.
 */
export async function write(parts: WriteParts, command: Command): Promise<Written | undefined> {
  const { dir, locks, removals } = parts;
  const { kind, name, target } = command;
  const { note, ...lookups } = lookupsOf(command);
  const step = (isAlone: boolean) =>
    whileKept(parts, name, lookups, async (state): Promise<Done | typeof AGAIN | undefined> => {
      const feed = parts.index.get(name);
      if (!feed) return whileOpen(parts, lookups, (open) => decideNew(parts, command, { ...state, ...open }));
      const run = async () => {
        if (kind === 'configure') {
          // It is refused if they cannot be read, also if only the read id is to be changed.
          await readSettingsFile(join(dir, name));
          await takeInByHand(parts, feed);
        }
        const present = await presentOf(parts, feed, lookups, state.now);
        const found = { ...state, ...present, hasImage: await hasFile(dir, feed, lookups) };
        const changeFeed = (named?: NamedNote) =>
          whileOpen(parts, lookups, (open) => change(parts, command, feed, { ...found, ...open }, named));
        if (kind === 'sweep') return sweep(parts, feed, { state: found, command, isAlone });
        if (!note) return changeFeed();
        if (note.key === undefined) return withNote(parts, feed, { ...command, ...note }, changeFeed);
        return withHolder(parts, feed, { key: note.key, command, now: state.now }, async (holder) =>
          !isAlone && holder && isExpired(holder.note, state.now) ? AGAIN : changeFeed(holder),
        );
      };
      return run().catch((error) => forgetIfGone(parts, feed, error));
    });
  const shares = kind === 'sweep' || (kind === 'post' && target.kind === 'existing' && !command.replaces);
  let done = shares ? await locks.shared(name, () => step(false)) : AGAIN;
  if (done === AGAIN) done = await locks.exclusive(name, () => step(true));
  if (done === AGAIN) throw new TypeError('A step that is alone cannot ask for it');
  if (done?.left !== undefined) await removals.remove(join(dir, done.left), name, done.last);
  return done?.written;
}

/** Removes notes that are due. Posts go on beside it, unless the title image is one of them. */
function sweep(
  parts: WriteParts,
  feed: IndexedFeed,
  { command, state, isAlone }: { command: Command; state: StateOfStep; isAlone: boolean },
): Promise<Done | typeof AGAIN | undefined> {
  const { dir, locks, rules, keeper, writer } = parts;
  return locks.exclusive(`${feed.name}/`, async () => {
    const dueNow = async () => {
      const { image } = feed.record();
      const due = dueOf({ ...feed.files.settings, image }, state.now, rules.keepDays);
      // Before all expired notes are known, others would be removed in their place.
      if (due.beyond !== undefined) await keeper.whenMarked(feed);
      const found = dueNotes(feed, due, SWEPT_FILES);
      return { found, hasImage: found.some(({ file }) => file === image) };
    };
    let { found, hasImage } = await dueNow();
    if (!isAlone && hasImage) return AGAIN;
    // Without its title image the feed has other settings. They are written, so what is due must follow from those in the file.
    if (hasImage && (await takeInByHand(parts, feed))) ({ found } = await dueNow());
    // What a refused removal has moved away has its mark all the same.
    if (found.length > 0) await writer.finishUndo(join(dir, feed.name));
    const checks = found.map(async ({ file }) => {
      if (feed.expiryOf(file) > state.now) return true;
      const mark = await readMark(join(dir, feed.name), file);
      if (mark?.expires !== undefined && mark.expires <= state.now) return true;
      feed.correct(file, mark);
      return false;
    });
    const isDue = await Promise.all(checks);
    const notes = found.filter((_, n) => isDue[n]).map((note) => ({ ...note, ...UNREAD }));
    return change(parts, command, feed, { ...state, due: notes });
  });
}

/**
 * Takes in what somebody has just changed in the dot files of a feed, because a write of them would take it back. Returns whether
 * there was anything.
 */
async function takeInByHand(
  { dir, index, log, writer, onLost }: WriteParts,
  feed: IndexedFeed,
): Promise<boolean> {
  const folder = join(dir, feed.name);
  // What a refused write has left is no change by hand.
  await writer.finishUndo(folder);
  const files = await readFeedFiles(folder, logOfFeed(log, feed.name));
  if (!files || JSON.stringify(files) === JSON.stringify(feed.files)) return false;
  // In a folder that has just taken its place, files may still be missing, such as the password.
  if (folderIdentity(await lstat(folder).catch(refuse)) !== feed.identity) {
    onLost(feed.name);
    return false;
  }
  index.apply(feed, { files });
  // The watch does not report the removal of a file that it has not seen.
  onLost(feed.name);
  return true;
}

/** Runs a change that needs to know which of its pictures the operator has closed. The operator closes none until it is done. */
async function whileOpen<T>(
  { locks, records }: WriteParts,
  { pictures = [] }: Lookups,
  step: (state: Pick<State, 'blockedPictures'>) => Promise<T>,
): Promise<T> {
  if (pictures.length === 0) return step({});
  return locks.shared(RECORD_LINES.picture.file, async () => {
    const found = await records.find('picture', pictures);
    return step({ blockedPictures: new Set(found.map(({ key }) => key)) });
  });
}

/** Keeps a read id for the feed, and licenses of an id as they are, until the step is done. */
async function whileKept<T>(
  { index, locks, retired }: WriteParts,
  name: FeedName,
  { readId, licenseId }: Lookups,
  step: (state: StateOfStep) => Promise<T>,
): Promise<T> {
  if (licenseId !== undefined)
    return locks.exclusive(`license ${licenseId}`, () =>
      step({ now: Date.now(), licensed: index.countLicensed(licenseId, name) }),
    );
  if (readId === undefined) return step({ now: Date.now() });
  const holder = index.holderOf(readId) ?? (retired.has(readId) ? null : undefined);
  const isKept = index.reserve(name, readId);
  try {
    return await step({ now: Date.now(), readIdHolder: holder });
  } finally {
    if (isKept) index.unreserve(name, readId);
  }
}

async function decideNew(parts: WriteParts, command: Command, state: StateOfStep): Promise<Done | undefined> {
  const { index, rules } = parts;
  // Counted only now, because a post with pictures may have waited before.
  const { size: feeds, bytes } = index;
  const isNameBlocked = index.isClosed(command.name);
  const effects = decide(command, { ...state, feed: undefined, isNameBlocked, feeds, bytes }, rules);
  if (effects === undefined) return undefined;
  const { byteCount } = effects.feed;
  index.making += 1;
  index.storing += byteCount;
  try {
    const written = await makeFolder(parts, effects);
    return written && { written };
  } finally {
    index.making -= 1;
    index.storing -= byteCount;
  }
}

/** Undefined if somebody made a folder of that name meanwhile; it is then in the index. */
async function makeFolder(
  { dir, index, log, onMade, writer }: WriteParts,
  { feed: made, added, note, outcomes }: Effects,
): Promise<Written | undefined> {
  const { name, readId, passwordHash, license } = made;
  const files = { storedReadId: readId, settings: settingsOf(made), passwordHash, license };
  const parts = [...feedParts(files), ...added.flatMap((note) => noteParts(note))];
  try {
    const { stamps, identity } = await writer.placeFolder(dir, name, parts);
    const stampOf = new Map(parts.map((part, n) => [part.name, stamps[n]]));
    const now = Date.now();
    const feed = new IndexedFeed(name, { identity, createdAt: now, changedAt: now }, files);
    feed.apply({ put: entriesOf(added, stampOf), marks: marksOf(added) });
    index.add(feed);
    onMade(name);
    return { feed: feed.record(), note: stamped(note, stampOf), outcomes };
  } catch (error) {
    const cause = asRefusal(error);
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw cause;
    const feed = await scanFeed(dir, name, log).catch(refuse);
    if (feed === 'unreadable') throw unavailable(error);
    if (!(feed instanceof IndexedFeed))
      throw new Refusal('internal', 'Something that is not a feed is in the way.', { cause });
    index.add(feed);
    return undefined;
  }
}

async function change(
  parts: WriteParts,
  command: Command,
  feed: IndexedFeed,
  state: StateOfStep,
  named?: NamedNote,
): Promise<Done | undefined> {
  const before = countingPosts(feed);
  const { bytes } = parts.index;
  const effects = decide(command, { ...state, feed: before, note: named?.note, bytes }, parts.rules);
  if (effects === undefined) return undefined;
  if (changesSettings(before, effects.feed) && (await takeInByHand(parts, feed)))
    return change(parts, command, feed, state, named);
  const { fate, edit, note, added, removed = [], outcomes } = effects;
  if (fate === 'unchanged') return { written: { feed: effects.feed, note, isUnchanged: true, outcomes } };
  if (fate === 'deleted')
    return { written: { feed: effects.feed, note }, ...(await deleteFeed(parts, feed)) };
  // What is being stored and what is stored never pass the limits together.
  const release = keepRoom(parts.index, feed, before, effects.feed);
  const { isMarked } = feed;
  // Released in the turn in which the notes come into the index, so that they never count twice.
  const { stampOf, files } = await writeFiles(parts, feed, effects, named)
    .catch((error) => {
      feed.failedWrites += 1;
      // A look at all marks that has ended meanwhile saw what is undone now.
      if (!isMarked) feed.isMarked = false;
      throw error;
    })
    .finally(release);
  const put = entriesOf(added, stampOf);
  const gone = removed.map(({ id, type }) => noteFile(id, type));
  if (edit && named && !edit.after) gone.push(named.entry.file);
  if (edit?.after && named) put.push(editedEntry(edit, named, stampOf));
  const marks = marksOf(edit?.after ? [...added, edit.after] : added);
  const changed = parts.index.apply(feed, { put, gone, files, marks });
  return { written: { feed: changed, note: stamped(note, stampOf), outcomes } };
}

/** The note with the date that its file got. */
function stamped(note: Note | undefined, stampOf: WrittenFiles['stampOf']): Note | undefined {
  const stamp = note && stampOf.get(noteFile(note.id, note.type));
  return stamp ? { ...note, modifiedAt: stamp.mtimeMs } : note;
}

/** Counts notes that are being stored, until the function returned is called. Room that is being freed is not there yet. */
function keepRoom(index: FeedIndex, { posting }: IndexedFeed, before: Feed, after: Feed): () => void {
  const notes = Math.max(0, after.noteCount - before.noteCount);
  const images = Math.max(0, after.imageCount - before.imageCount);
  const bytes = Math.max(0, after.byteCount - before.byteCount);
  const keep = (each: 1 | -1) => {
    posting.noteCount += each * notes;
    posting.imageCount += each * images;
    posting.byteCount += each * bytes;
    index.storing += each * bytes;
  };
  keep(1);
  return () => keep(-1);
}

async function writeFiles(
  { dir, writer }: WriteParts,
  feed: IndexedFeed,
  { added, edit, removed = [], outcomes, feed: after }: Effects,
  named: NamedNote | undefined,
): Promise<WrittenFiles> {
  const folder = join(dir, feed.name);
  const settings = changesSettings(feed.record(), after) ? await feedChanges(feed, folder, after) : undefined;
  const changes = [
    ...(edit && named ? noteChanges(edit, named) : []),
    ...removed.flatMap(({ id, type }) => removalChanges(noteFile(id, type))),
    ...(settings?.changes ?? []),
  ];
  const notes = added.flatMap((note) => noteParts(note));
  // The deletion of one note needs no intent: the note is gone when its content is, whatever a crash leaves of its metadata. Imported
  // notes may appear one by one.
  const isDeletion = added.length === 0 && edit !== undefined && edit.after === undefined;
  const isWhole =
    !isDeletion && outcomes === undefined && (added.length + changes.length > 1 || marksOf(added).length > 0);
  const isRemoval = isDeletion || (added.length === 0 && !edit && removed.length > 0);
  const stamps = await writer.change(folder, changes, notes, isWhole).catch((error) => {
    if (!isRemoval || !isDiskFull(errorCode(error))) throw error;
    // A full disk has no room for an intent, nor for settings without the title image. After a crash some notes of
    // a sweep may be left, and are still due, or the metadata of a removed one; a title image that is gone counts as none.
    return writer.change(
      folder,
      changes.filter(({ name }) => isFileOfNote(name)),
    );
  });
  const stampOf = new Map([...notes, ...changes].map(({ name }, n) => [name, stamps[n]]));
  return { stampOf, files: settings?.files };
}

/** Deletes a feed: it is gone, and its name free, once its folder is renamed. */
async function deleteFeed(parts: WriteParts, feed: IndexedFeed): Promise<Omit<Done, 'written'>> {
  const { dir, index, writer } = parts;
  const { name, readId } = feed;
  let last: Done['last'];
  if (isReadId(readId))
    await retire(parts, readId).catch((error) => {
      if (!isDiskFull(errorCode(error))) throw error;
      // There is room once the files of the feed are removed. Until then the name of the folder holds it.
      last = () => retire(parts, readId);
    });
  const left = await writer.moveAway(dir, name, last && readId);
  index.drop(feed);
  return { left, last };
}

/** Notes that nobody gets a read id again; settles when that is durable. */
export function retire(
  { locks, retired }: Pick<WriteParts, 'locks' | 'retired'>,
  readId: ReadId,
): Promise<void> {
  return locks.exclusive(RETIRED_FILE, () => retired.add(readId));
}

/** The feed with the notes that are being stored. */
function countingPosts(feed: IndexedFeed): Feed {
  const record = feed.record();
  const { noteCount, imageCount, byteCount } = feed.posting;
  if (noteCount === 0 && byteCount === 0) return record;
  return {
    ...record,
    noteCount: record.noteCount + noteCount,
    imageCount: record.imageCount + imageCount,
    byteCount: record.byteCount + byteCount,
  };
}

/**
 * Forgets a feed whose step failed because somebody removed its folder.
 * @throws Refusal for any other failure
 */
async function forgetIfGone(
  { dir, index, writer, onLost }: Pick<WriteParts, 'dir' | 'index' | 'writer' | 'onLost'>,
  feed: IndexedFeed,
  error: unknown,
): Promise<undefined> {
  const folder = join(dir, feed.name);
  const isStillThere = async () => {
    // The step may have moved it away itself.
    await writer.finishUndo(folder);
    return (await isThere(folder)) || undefined;
  };
  if (!isGone(error) || (await findAgain(dir, isStillThere).catch(refuse))) throw asRefusal(error);
  index.drop(feed);
  onLost(feed.name);
}

import { join } from 'node:path';
import type { AllowedFeed, Feed } from '../../feeds/feed.ts';
import { isReservedReadId, randomReadId } from '../../feeds/ids.ts';
import { type FeedName, isReadId, type ReadId } from '../../feeds/names.ts';
import type { NewNote } from '../../feeds/note.ts';
import { Refusal } from '../../refusals.ts';
import { NO_SETTINGS, serializeSettings, settingsAsStored } from '../metadata.ts';
import {
  licenseTaken,
  limitsNow,
  NO_NOTES,
  type Room,
  readIdTaken,
  refuseBeyond,
  tooManyFeeds,
} from '../refused-writes.ts';
import type { FeedCreation, Storage } from '../storage.ts';
import { type Change, lineFile, type Part, textFile } from './durable.ts';
import { asRefusal, errorCode } from './failures.ts';
import { type FeedFiles, IndexedFeed } from './feed-index.ts';
import { LICENSE_FILE, PASSWORD_FILE, READ_ID_FILE, RETIRED_FILE, SETTINGS_FILE } from './names.ts';
import { entriesOf, noteParts, settingsFile } from './note-writes.ts';
import { UNREADABLE_READ_ID } from './read-metadata.ts';
import { scanFeed } from './scan.ts';
import { changeFeed, type WriteParts } from './steps.ts';
import { UnreadableFile } from './unreadable-file.ts';

/**
 * See `Storage.create` and, with notes, `Storage.post` with a new target. A single note is stored with the feed; several are
 * only checked against the limits.
 */
export function makeFeed(
  parts: WriteParts,
  name: FeedName,
  { readId = randomReadId(), passwordHash }: FeedCreation,
  room?: Room<NewNote>,
): Promise<Feed | undefined> {
  const { index, locks, maxFeeds } = parts;
  return locks.exclusive(name, async () => {
    if (index.get(name)) return undefined;
    return withReadId(parts, name, readId, async () => {
      if (index.isFull(maxFeeds)) throw tooManyFeeds();
      if (room)
        refuseBeyond(
          { notes: room.notes, limits: limitsNow(room.limits, undefined, parts.isLicenseValid) },
          NO_NOTES,
        );
      index.making += 1;
      try {
        const files = { storedReadId: readId, settings: NO_SETTINGS, passwordHash };
        return await makeFolder(parts, name, files, room?.notes.length === 1 ? room.notes : []);
      } finally {
        index.making -= 1;
      }
    });
  });
}

/** Undefined if somebody made a folder of that name meanwhile; it is then in the index. */
async function makeFolder(
  { dir, index, log, onMade, writer }: WriteParts,
  name: FeedName,
  files: FeedFiles,
  notes: readonly NewNote[],
): Promise<Feed | undefined> {
  const parts = [...feedParts(files), ...notes.flatMap((note) => noteParts(note))];
  try {
    const { stamps, identity } = await writer.placeFolder(dir, name, parts);
    const feed = new IndexedFeed(name, identity, files, entriesOf(notes, parts, stamps), Date.now());
    index.add(feed);
    onMade(name);
    return feed.record();
  } catch (error) {
    const cause = asRefusal(error);
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw cause;
    const feed = await scanFeed(dir, name, log);
    if (!(feed instanceof IndexedFeed))
      throw new Refusal('internal', 'Something that is not a feed is in the way.', { cause });
    index.add(feed);
    return undefined;
  }
}

/** The dot files of a new feed. */
export function feedParts({ storedReadId, settings, passwordHash, license }: FeedFiles): Part[] {
  const files = [
    lineFile(READ_ID_FILE, storedReadId),
    lineFile(PASSWORD_FILE, passwordHash),
    lineFile(LICENSE_FILE, license?.text),
    textFile(SETTINGS_FILE, serializeSettings(settings)),
  ];
  return files.filter((file): file is Part => file.bytes !== undefined);
}

/** See `Storage.configure`. A crash in the middle can leave the other settings changed and the read id not. */
export function configureFeed(
  parts: WriteParts,
  ...[allowed, change]: Parameters<Storage['configure']>
): Promise<Feed | undefined> {
  return changeFeed(parts, allowed, async (feed) => {
    const { readId, ...settings } = change(feed.record());
    if (readId !== feed.readId && feed.files.storedReadId === UNREADABLE_READ_ID)
      throw new UnreadableFile(READ_ID_FILE, 'it holds no read id');
    const isSame = serializeSettings(feed.files.settings) === serializeSettings(settings);
    // Refuses every change while the settings cannot be read, also one of the read id alone.
    const changed = await settingsFile(join(parts.dir, feed.name), settings);
    const changes = isSame ? [] : [changed];
    // As the file will have them, so that the watch finds no difference.
    const files = { ...feed.files, settings: settingsAsStored(settings) };
    if (readId === feed.readId)
      return changes.length > 0 ? write(parts, feed, changes, files) : feed.record();
    changes.push(lineFile(READ_ID_FILE, readId));
    return withReadId(parts, feed.name, readId, () =>
      write(parts, feed, changes, { ...files, storedReadId: readId }),
    );
  });
}

/** See `Storage.setPassword`. */
export async function setPassword(
  parts: WriteParts,
  ...[allowed, passwordHash]: Parameters<Storage['setPassword']>
): Promise<boolean> {
  const set = await changeFeed(parts, allowed, (feed) =>
    write(parts, feed, [lineFile(PASSWORD_FILE, passwordHash)], { ...feed.files, passwordHash }),
  );
  return set !== undefined;
}

/** See `Storage.setLicense`. A license is attached under its own lock, because its feeds are counted first. */
export function setLicense(
  parts: WriteParts,
  ...[allowed, license]: Parameters<Storage['setLicense']>
): Promise<Feed | undefined> {
  return changeFeed(parts, allowed, (feed) => {
    const attached = license && { text: license.text, id: license.id };
    const set = () =>
      write(parts, feed, [lineFile(LICENSE_FILE, license?.text)], { ...feed.files, license: attached });
    if (license === undefined) return set();
    return parts.locks.exclusive(`license ${license.id}`, async () => {
      if (parts.index.countLicensed(license.id, feed) >= license.feeds) throw licenseTaken(license.feeds);
      return set();
    });
  });
}

/**
 * See `Storage.deleteFeed`. The feed is gone, and its name free, once its folder is renamed; then its files are removed. After
 * a crash before that the feed is unchanged, but its read id stays retired.
 */
export async function deleteFeed(parts: WriteParts, allowed: AllowedFeed): Promise<boolean> {
  const { dir, index, locks, removals, retired, writer } = parts;
  const moved = await changeFeed(parts, allowed, async (feed) => {
    if (isReadId(feed.readId)) await locks.exclusive(RETIRED_FILE, () => retired.add(feed.readId));
    const temp = await writer.moveAway(dir, feed.name);
    index.drop(feed);
    return temp;
  });
  if (moved !== undefined) await removals.remove(join(dir, moved), allowed.name);
  return moved !== undefined;
}

async function write(
  { dir, index, writer }: WriteParts,
  feed: IndexedFeed,
  changes: readonly Change[],
  files: FeedFiles,
): Promise<Feed> {
  await writer.change(join(dir, feed.name), changes);
  return index.apply(feed, { files });
}

/**
 * Keeps a read id for a feed until the work that gives it to the feed is done. A reserved feed gets its name again.
 * @throws Refusal `taken`
 */
async function withReadId<T>(
  { index, retired }: WriteParts,
  name: FeedName,
  readId: ReadId,
  work: () => Promise<T>,
): Promise<T> {
  const isRetired = retired.has(readId) && !isReservedReadId(readId, name);
  if (isRetired || !index.reserve(name, readId)) throw readIdTaken();
  try {
    return await work();
  } finally {
    index.unreserve(name, readId);
  }
}

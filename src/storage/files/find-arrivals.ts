import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { NoteId } from '../../feeds/names.ts';
import {
  type Arrival,
  type Arrivals,
  BEFORE_ALL,
  firstDateAfter,
  guessedPlace,
  lastArrivals,
  maxExamined,
} from '../arrivals.ts';
import { ArrivalLog, AT_ONCE, arrivalOf } from './arrival-log.ts';
import type { IndexedFeed } from './indexed-feed.ts';
import { metaFile } from './names.ts';
import type { Entry } from './note-list.ts';
import type { NoteReader } from './note-reader.ts';
import { findAgain, statFile } from './read-file.ts';
import { CLOCK_TICK_MS } from './stamp.ts';
import type { WriteParts } from './writes.ts';

/** A file that is younger than its metadata by this, ms, was changed by hand: a write gives both their names. */
const BY_HAND_MS = 1_000;
/**
 * A file that is younger than its note by this, ms, was changed after the post, or a refused edit was taken back. Hardly any post takes
 * so long.
 */
const CHANGED_MS = 10_000;

/** See `Storage.arrivals`. */
export async function findArrivals(
  { dir, locks }: Pick<WriteParts, 'dir' | 'locks'>,
  reader: Pick<NoteReader, 'meta'>,
  feed: IndexedFeed,
  since: Arrival | NoteId | undefined,
  limit: number,
): Promise<Arrivals | undefined> {
  // Posts run beside each other, and kernels date files by ticks. Once a tick has passed and every step of then has ended, no note
  // can get an earlier time any more.
  await delay(CLOCK_TICK_MS + 2);
  const until = Date.now() - CLOCK_TICK_MS;
  await locks.settled(feed.name);
  const arrivalOfEntry = (entry: Entry) =>
    findAgain(dir, () => readArrival(join(dir, feed.name), reader, feed, entry));
  const placeOf = async (id: NoteId): Promise<Arrival | undefined> => {
    const entry = feed.entryOfId(id);
    const place = entry && (await arrivalOfEntry(entry));
    if (!place) return guessedPlace(id);
    // To tell some notes again does less harm than to leave some out.
    const isUnsure = place.at - entry.createdAt > CHANGED_MS || (await mayBeEdited(reader, feed, entry));
    return isUnsure ? { ...place, at: entry.createdAt } : place;
  };
  const place = typeof since === 'string' ? await placeOf(since) : (since ?? BEFORE_ALL);
  if (!place) return undefined;
  const log = logOf(feed, firstDateAfter(place), maxExamined(since));
  const found = await log.after(place, until, arrivalOfEntry);
  const now = Date.now();
  const isLive = ({ id }: Arrival) => {
    const entry = feed.entryOfId(id);
    // Not by the id of a place: a note that was told may have been removed by hand, and placed again.
    return id !== since && entry !== undefined && feed.expiryOf(entry.file) > now;
  };
  return lastArrivals(found, place, limit, isLive);
}

/** The log of a feed, made anew unless it goes back far enough, or has as many notes as are looked at. */
function logOf(feed: IndexedFeed, from: number, maxEntries: number): ArrivalLog {
  const known = feed.arrivals;
  if (known && !known.isFull && (known.from <= from || known.size >= maxEntries)) return known;
  const entries: Entry[] = [];
  for (let isOver = false; !isOver; ) {
    const older = feed.notes.older(entries.at(-1), AT_ONCE);
    const dated = older.filter(({ createdAt }) => createdAt > from);
    entries.push(...dated);
    isOver = dated.length < AT_ONCE || entries.length >= maxEntries;
  }
  const isCut = entries.length >= maxEntries;
  feed.arrivals = new ArrivalLog(isCut ? entries.at(-1)!.createdAt : from, entries, known);
  return feed.arrivals;
}

async function readArrival(
  folder: string,
  reader: Pick<NoteReader, 'meta'>,
  feed: IndexedFeed,
  entry: Entry,
): Promise<Arrival | undefined> {
  const { id, file, createdAt } = entry;
  if (entry.arrivedAt === undefined) {
    const cameAt = (await statFile(join(folder, file)))?.ctimeMs;
    const at = cameAt === undefined ? undefined : arrivalOf(entry, cameAt);
    const former = at === undefined ? undefined : await arrivalBeforeEdits(folder, reader, feed, entry, at);
    // A write may have set the place of the entry while its files were read: that one counts.
    if (at !== undefined) entry.arrivedAt ??= former ?? at;
  }
  const at = entry.arrivedAt;
  return at === undefined ? undefined : { at, id, date: Math.min(createdAt, at) };
}

/**
 * When a note came whose file may have changed since; undefined if it has not.
 * @param at the time of its file
 */
async function arrivalBeforeEdits(
  folder: string,
  reader: Pick<NoteReader, 'meta'>,
  feed: IndexedFeed,
  entry: Entry,
  at: number,
): Promise<number | undefined> {
  const { createdAt, file, meta } = entry;
  if (!meta || at - createdAt <= CLOCK_TICK_MS) return undefined;
  // Whoever was told of what came soon after its date may not know it.
  if (await mayBeEdited(reader, feed, entry)) return Math.min(at, createdAt + CHANGED_MS);
  const metaAt = (await statFile(join(folder, metaFile(file))))?.ctimeMs;
  return metaAt !== undefined && metaAt < at - BY_HAND_MS ? Math.max(metaAt, createdAt) : undefined;
}

/** Whether an edit may have changed the file. Nothing says which one did, nor whether a note that has expired was edited. */
async function mayBeEdited(
  reader: Pick<NoteReader, 'meta'>,
  feed: IndexedFeed,
  entry: Entry,
): Promise<boolean> {
  if (!entry.meta) return false;
  const meta = await reader.meta(feed, entry);
  return !meta || meta.edited !== undefined;
}

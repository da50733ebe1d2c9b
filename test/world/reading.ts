import type { Feed } from '../../src/feeds/feed.ts';
import { dateOfId } from '../../src/feeds/ids.ts';
import type { FeedName, NoteFile, NoteId } from '../../src/feeds/names.ts';
import { noteFile } from '../../src/feeds/names.ts';
import type { Note } from '../../src/feeds/note.ts';
import { type Ordered, oldestFirst } from '../../src/feeds/order.ts';
import type { Arrival } from '../../src/storage/arrivals.ts';
import type { Storage } from '../../src/storage/storage.ts';
import {
  type FeedValue,
  isFeed,
  isNote,
  type KnownFeed,
  type KnownNote,
  type NoteValue,
  placeOf,
  Violation,
} from './known.ts';
import type { Scene } from './scene.ts';

/** A feed as it was found. */
export interface FoundFeed {
  readonly known: KnownFeed;
  readonly record: Feed;
}

/** What was written within this time before a look at what came may come later, ms. */
const JUST_NOW_MS = 100;

/** Until this time after its date, ms, a change of a note looks like its post. */
const SOON_MS = 10_000;

/** No feed of a world has as many notes. */
const FOLLOWED_AT_ONCE = 1_000;

const isAbsent = (value: unknown) => value === undefined;

/** The feed of a name as the storage says, which must be one that may be there. */
export async function findFeed(
  scene: Scene,
  storage: Storage,
  name: FeedName,
): Promise<FoundFeed | undefined> {
  const since = scene.moments.next();
  const record = await scene.alive(storage.feed(name));
  const ofName = scene.feeds.filter((one) => one.name === name);
  if (!record) {
    const lost = ofName.find((one) => !one.record.mayHaveBeen(since, isAbsent));
    if (lost) throw new Violation(`${lost.record.title} is not there`);
    return undefined;
  }
  // What is being taken back may be anything, but has one of its read ids.
  const isIt = (value: FeedValue | undefined) => isFeed(value, record);
  const isSame = (value: FeedValue | undefined) => value?.readId === record.readId;
  const known = ofName.find(
    (one) => one.record.mayBeOrBecome(since, isSame) && one.record.mayBeRead(since, isIt),
  );
  if (known) return { known, record };
  // Until the watch has seen that a feed lost its former name, that one has its read id.
  if (ofName.some(({ record: { sure, pending } }) => !sure && pending?.change.isByHand)) return undefined;
  throw new Violation(`feed ${name} is as nobody made it: ${JSON.stringify(record)}`);
}

/** Walks through all pages of a feed. */
export async function readPages(
  scene: Scene,
  storage: Storage,
  { known, record }: FoundFeed,
  limit: number,
): Promise<void> {
  const since = scene.moments.next();
  const begunAt = Date.now();
  const seen = new Map<NoteFile, Note>();
  let last: Note | undefined;
  for (
    let before: { createdAt: number; file: NoteFile } | undefined, isFirst = true;
    before || isFirst;
    isFirst = false
  ) {
    const page = await scene.alive(storage.page(record, { limit, before }));
    for (const note of page.notes) {
      if (last && oldestFirst(note, last) >= 0) throw new Violation(`the order is broken at ${note.id}`);
      last = note;
      seen.set(noteFile(note.id, note.type), note);
    }
    before = page.next;
  }
  const endedAt = Date.now();
  for (const [file, note] of seen) checkNote(known, file, note, since, begunAt);
  if (!known.record.isSteady(since)) return;
  // If a note has no date in its name, a change of its file moves it to the first page.
  const mayHaveMoved = (note: KnownNote) => dateOfId(note.id) === undefined && !note.isSteady(since);
  for (const [file, note] of known.notes)
    if (!seen.has(file) && !mayBeAbsent(note, since, endedAt) && !mayHaveMoved(note))
      throw new Violation(`${note.title} is not shown`);
}

/** One note, and, if it is a picture, its bytes. */
export async function readNote(
  scene: Scene,
  storage: Storage,
  { known, record }: FoundFeed,
  asked: KnownNote,
): Promise<void> {
  const since = scene.moments.next();
  const begunAt = Date.now();
  const note = await scene.alive(storage.note(record, asked.id));
  if (note) checkNote(known, asked.file, note, since, begunAt);
  else if (known.record.isSteady(since) && !mayBeAbsent(asked, since, Date.now()))
    throw new Violation(`${asked.title} is not found`);
  const stored = await scene.alive(storage.stat(record, asked.file));
  if (!stored) return;
  const pieces: Uint8Array[] = [];
  for await (const piece of stored.read(0, stored.size)) pieces.push(piece);
  await scene.alive(Promise.resolve());
  const bytes = Buffer.concat(pieces);
  if (!asked.mayBeRead(since, (value) => value?.bytes.equals(bytes) ?? false))
    throw new Violation(`the bytes of ${asked.title} are none that somebody sent`);
}

export function checkNote(
  known: KnownFeed,
  file: NoteFile,
  note: Note,
  since: number,
  begunAt: number,
): void {
  const asked = known.notes.get(file);
  if (!asked) throw new Violation(`${known.record.title} has ${file}, which nobody posted`);
  const isIt = (value: NoteValue | undefined) => isNote(value, note) && !(value!.expires! <= begunAt);
  if (!asked.mayBeRead(since, isIt) && !known.isRemovedByHand)
    throw new Violation(
      `${asked.title} is as it may not be: ${JSON.stringify(note.meta)}, ${note.size} bytes`,
    );
}

/** A note that has expired by then, or that the feed may not have kept, may be absent. */
export function mayBeAbsent(note: KnownNote, since: number, until: number): boolean {
  return (
    note.mayBeSwept || note.mayHaveBeen(since, (value) => value === undefined || value.expires! <= until)
  );
}

/** The notes next to one: each is there, and nothing that is there all the time lies between. */
export async function readNeighbours(
  scene: Scene,
  storage: Storage,
  { known, record }: FoundFeed,
  asked: KnownNote,
): Promise<void> {
  const place = placeOf(asked);
  if (!place) return;
  const since = scene.moments.next();
  const begunAt = scene.now;
  const { createdAt } = place;
  const found = await scene.alive(storage.neighbours(record, { createdAt, file: asked.file }));
  const all = [...known.notes.values()];
  for (const [side, id] of [
    [-1, found.older],
    [1, found.newer],
  ] as const) {
    const ofId = all.filter((one) => one.id === id);
    if (
      id &&
      !ofId.some((one) =>
        one.mayBeRead(since, (value) => value !== undefined && !(value.expires! <= begunAt)),
      )
    )
      throw new Violation(`${id} is beside ${asked.title}, and not there`);
    if (!known.record.isSteady(since) || ofId.some((one) => !placeOf(one))) continue;
    const isBeyond = (a: Ordered, b: Ordered) => oldestFirst(a, b) * side > 0;
    const isBetween = (one: KnownNote) => {
      const other = placeOf(one);
      return other && isBeyond(other, place) && ofId.every((next) => isBeyond(placeOf(next)!, other));
    };
    const left = all.find((one) => isBetween(one) && !mayBeAbsent(one, since, scene.now));
    if (left) throw new Violation(`${left.title} is not beside ${asked.title}, but ${id}`);
  }
}

/** The notes that came: each once, and all that were there all the time. */
export async function readArrivals(
  scene: Scene,
  storage: Storage,
  { known, record }: FoundFeed,
): Promise<void> {
  const since = scene.moments.next();
  const begunAt = scene.now;
  const limit = 1 + scene.random.below(200);
  const arrivals = await scene.alive(storage.arrivals(record, undefined, limit));
  const ids = arrivals?.notes.map(({ id }) => id) ?? [];
  if (new Set(ids).size < ids.length) throw new Violation(`a note of ${known.record.title} came twice`);
  const until = scene.now;
  const all = [...known.notes.values()];
  for (const id of ids) {
    const ofId = all.filter((one) => one.id === id);
    if (!ofId.some((one) => one.mayBeRead(since, (value) => value !== undefined)))
      throw new Violation(`${id} came to ${known.record.title}, and is not there`);
  }
  if (!arrivals?.isComplete || !known.record.isSteady(since)) return;
  // A note that was edited at once comes a tick after the edit.
  const isDue = ({ touchedAt }: KnownNote) => touchedAt < begunAt - JUST_NOW_MS;
  const lost = all.find((one) => !ids.includes(one.id) && isDue(one) && !mayBeAbsent(one, since, until));
  if (lost) throw new Violation(`${lost.title} has not come`);
}

/** Who has been told what came to a feed, and goes on from there. */
export interface Follower {
  readonly told: Set<NoteId>;
  readonly last: Arrival | undefined;
  /** Of what was dated before, some may not have been told. */
  readonly since: number;
}

/** Whether it is known when a note came, also after a restart. If it has no date in its name, or came again, only its file tells. */
function tellsItsArrival({ id, sure, wasImported, touchedAt, refusedAt }: KnownNote): boolean {
  const date = dateOfId(id);
  if (date === undefined || wasImported) return false;
  const isLater = (at: number) => at - date > SOON_MS;
  const hasMetadata = (sure?.key ?? sure?.title) !== undefined;
  return (refusedAt === undefined || isLater(refusedAt)) && (hasMetadata || isLater(touchedAt));
}

/** Tells a follower what came since: all that is there and was dated later. */
export async function follow(
  scene: Scene,
  storage: Storage,
  { known, record }: FoundFeed,
  { told, last, since }: Follower,
): Promise<Follower | undefined> {
  const moment = scene.moments.next();
  const begunAt = scene.now;
  // As after a lost connection.
  const isLast = (one: KnownNote) => one.id === last?.id && tellsItsArrival(one);
  const place = scene.random.chance(0.3) && [...known.notes.values()].some(isLast) ? last?.id : last;
  const arrivals = await scene.alive(storage.arrivals(record, place, FOLLOWED_AT_ONCE));
  if (!arrivals || !known.record.isSteady(moment)) return undefined;
  for (const { id } of arrivals.notes) told.add(id);
  const follower = {
    told,
    last: arrivals.notes.at(-1) ?? last,
    since: arrivals.isComplete ? since : begunAt,
  };
  const isOwed = (one: KnownNote) =>
    !one.wasImported &&
    dateOfId(one.id)! > follower.since &&
    one.touchedAt < begunAt - JUST_NOW_MS &&
    !told.has(one.id);
  const lost = [...known.notes.values()].find((one) => isOwed(one) && !mayBeAbsent(one, moment, scene.now));
  if (lost) throw new Violation(`${lost.title} was not told to who follows`);
  return follower;
}

/** The tags, and how many notes have them. */
export async function readTags(scene: Scene, storage: Storage, { known, record }: FoundFeed): Promise<void> {
  const since = scene.moments.next();
  const begunAt = scene.now;
  const counts = new Map((await scene.alive(storage.tags(record, ''))).map(({ tag, count }) => [tag, count]));
  if (!known.record.isSteady(since)) return;
  const until = scene.now;
  const all = [...known.notes.values()];
  for (const tag of ['a', 'b', 'c']) {
    const isTagged = (value: NoteValue | undefined) => value?.tags.includes(tag) === true;
    const isOver = (value: NoteValue | undefined, at: number) => value!.expires! <= at;
    const most = all.filter((one) =>
      one.mayHaveBeen(since, (value) => isTagged(value) && !isOver(value, begunAt)),
    );
    const least = all.filter(
      (one) =>
        !one.mayBeSwept && !one.mayHaveBeen(since, (value) => !isTagged(value) || isOver(value, until)),
    );
    const count = counts.get(tag) ?? 0;
    if (count < least.length || count > most.length)
      throw new Violation(
        `${count} notes of ${known.record.title} have the tag ${tag}, and not ${least.length} to ${most.length}`,
      );
  }
}

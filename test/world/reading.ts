import type { Feed } from '../../src/feeds/feed.ts';
import type { FeedName, NoteFile } from '../../src/feeds/names.ts';
import { noteFile } from '../../src/feeds/names.ts';
import type { Note } from '../../src/feeds/note.ts';
import { oldestFirst } from '../../src/feeds/order.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { isFeed, isNote, type KnownFeed, type KnownNote, type NoteValue, Violation } from './known.ts';
import type { Scene } from './scene.ts';

/** A feed as it was found. */
export interface FoundFeed {
  readonly known: KnownFeed;
  readonly record: Feed;
}

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
  const known = ofName.find((one) => one.record.mayBeRead(since, (value) => isFeed(value, record)));
  if (!known) throw new Violation(`feed ${name} is as nobody made it: ${JSON.stringify(record)}`);
  return { known, record };
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
  for (const [file, note] of known.notes)
    if (!seen.has(file) && !mayBeAbsent(note, since, endedAt))
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
  if (!asked.mayBeRead(since, isIt))
    throw new Violation(
      `${asked.title} is as it may not be: ${JSON.stringify(note.meta)}, ${note.size} bytes`,
    );
}

/** A note that has expired by then may be absent. */
export function mayBeAbsent(note: KnownNote, since: number, until: number): boolean {
  return note.mayHaveBeen(since, (value) => value === undefined || value.expires! <= until);
}

import { noteFile } from '../../src/feeds/names.ts';
import type { Note } from '../../src/feeds/note.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { type Change, isFeed, isNote, type Known, type KnownFeed, Violation } from './known.ts';
import type { Scene } from './scene.ts';

/** How a thing was found: as before the change that was not answered, as after it, or as both, if they are the same. */
interface Found {
  readonly isBefore: boolean;
  readonly isAfter: boolean;
  readonly shown: string;
}

/**
 * Reads everything while no client does anything, and compares it with what clients know. Of a change that was not answered,
 * because the process died, all must be there, or nothing.
 */
export async function verify(scene: Scene, storage: Storage, { isOfOneLife = false } = {}): Promise<void> {
  const found = new Map<Known<unknown>, Found>();
  let bytes = 0;
  for (const name of scene.names) {
    const record = await storage.feed(name);
    bytes += record?.byteCount ?? 0;
    const ofName = scene.feeds.filter((one) => one.name === name);
    const notes = record ? await allNotes(storage, record) : new Map<string, Note>();
    const present = ofName.find(
      ({ record: { sure, pending } }) =>
        record && (isFeed(sure, record) || isFeed(pending?.value as never, record)),
    );
    if (record && !present)
      throw new Violation(`feed ${name} is as nobody made it: ${JSON.stringify(record)}`);
    for (const feed of ofName) {
      const shown = feed === present ? record : undefined;
      found.set(
        feed.record,
        compare(feed.record, shown, (value) => isFeed(value, shown)),
      );
      for (const note of feed.notes.values()) {
        const read = feed === present ? notes.get(note.file) : undefined;
        const bytes = read && (await bytesOf(storage, record!, note.file));
        const isExpired = (expires: number | undefined) => expires! <= scene.now;
        const isGone = feed !== present;
        found.set(
          note,
          compare(note, read?.meta, (value) => {
            if (!read) return isGone || value === undefined || isExpired(value.expires) || note.mayBeSwept;
            if (value === undefined || !isNote(value, read)) return false;
            return bytes ? value.bytes.equals(bytes) : isExpired(value.expires);
          }),
        );
      }
    }
    const unknown = [...notes.keys()].find((file) => !present?.notes.has(file as never));
    if (unknown) throw new Violation(`feed ${name} has ${unknown}, which nobody posted`);
    if (record && present) checkCounts(present, record, notes.values(), scene.now);
  }
  for (const record of scene.records) {
    const [shown] = await storage.records.find(record.kind, [record.key]);
    found.set(
      record,
      compare(record, shown, (value) => value === (shown && true)),
    );
  }
  if (scene.maxBytes > 0 && bytes > scene.maxBytes && !scene.hasPerson)
    throw new Violation(`the feeds have ${bytes} bytes`);
  settle(scene, found, isOfOneLife);
}

/** A change is as a whole as its effects are. */
function settle({ moments }: Scene, found: ReadonlyMap<Known<unknown>, Found>, isOfOneLife: boolean): void {
  const changes = new Map<Change, Found[]>();
  for (const [known, one] of found) {
    const { pending } = known;
    if (pending) changes.set(pending.change, [...(changes.get(pending.change) ?? []), one]);
    else if (!one.isBefore)
      throw new Violation(
        `${known.title} is not as it was acknowledged: ${JSON.stringify(known.sure)}, ${one.shown}`,
      );
  }
  for (const [change, all] of changes) {
    const isTakenBack = change.isRefused && isOfOneLife;
    const isMade = !isTakenBack && all.every(({ isAfter }) => isAfter);
    if (!isMade && !all.every(({ isBefore }) => isBefore))
      throw new Violation(`${change.title} is half there`);
    if (!isMade && change.isByHand) throw new Violation(`${change.title} does not show`);
    if (!isMade && change.isSeen && !change.isRefused)
      throw new Violation(`${change.title} is gone, though somebody has read it`);
    const at = moments.next();
    for (const { known, value } of change.effects) {
      known.pending = undefined;
      known.isUnclear ||= isMade && all.every(({ isBefore }) => isBefore);
      if (isMade) known.become(value, at);
    }
  }
}

function compare<T>(
  { sure, pending }: Known<T>,
  shown: unknown,
  isIt: (value: T | undefined) => boolean,
): Found {
  return {
    shown: JSON.stringify(shown),
    isBefore: isIt(sure),
    isAfter: pending !== undefined && isIt(pending.value),
  };
}

/** Notes that have expired count until they are swept. */
function checkCounts(
  feed: KnownFeed,
  record: { readonly noteCount: number; readonly byteCount: number },
  shown: Iterable<Note>,
  now: number,
): void {
  const notes = [...shown];
  const least = notes.length;
  const mayBeCounted = [...feed.notes.values()].filter(
    ({ sure, pending, isUnclear }) =>
      isUnclear || [sure, pending?.value].some((value) => (value?.expires ?? now + 1) <= now),
  );
  if (record.noteCount < least || record.noteCount > least + mayBeCounted.length)
    throw new Violation(`${feed.record.title} counts ${record.noteCount} notes, and shows ${least}`);
  const bytes = notes.reduce((sum, { size }) => sum + size, 0);
  if (record.byteCount < bytes || (mayBeCounted.length === 0 && record.byteCount > bytes))
    throw new Violation(`${feed.record.title} counts ${record.byteCount} bytes, and shows ${bytes}`);
}

type Admitted = Parameters<Storage['page']>[0];

async function allNotes(storage: Storage, feed: Admitted): Promise<Map<string, Note>> {
  const notes = new Map<string, Note>();
  let page = await storage.page(feed, { limit: 100 });
  for (;;) {
    for (const note of page.notes) notes.set(noteFile(note.id, note.type), note);
    if (!page.next) return notes;
    page = await storage.page(feed, { limit: 100, before: page.next });
  }
}

async function bytesOf(
  storage: Storage,
  feed: Admitted,
  file: Parameters<Storage['stat']>[1],
): Promise<Buffer | undefined> {
  const stored = await storage.stat(feed, file);
  if (!stored) return undefined;
  const pieces: Uint8Array[] = [];
  for await (const piece of stored.read(0, stored.size)) pieces.push(piece);
  return Buffer.concat(pieces);
}

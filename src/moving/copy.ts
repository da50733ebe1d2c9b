import type { ReadId } from '../feeds/names.ts';
import type { Archive, ArchivedNote } from '../storage/archive.ts';

/** The most notes and bytes in one commit, and in memory; one note at least. */
const BATCH_NOTES = 500;
const BATCH_BYTES = 8 * 1024 * 1024;
const BATCH_READ_IDS = 10_000;

/**
 * Copies all of one archive into another, and resumes after what an earlier run copied.
 * @param copied called with the number of notes written, and their bytes
 */
export async function copy(
  source: Archive,
  target: Archive,
  copied: (notes: number, bytes: number) => void,
): Promise<void> {
  for await (const feed of source.feeds()) {
    const newest = await target.addFeed(feed);
    for await (const notes of batches(source.notes(feed.name, newest), BATCH_NOTES, sizeOf)) {
      await target.addNotes(feed, notes);
      const bytes = notes.reduce((sum, note) => sum + sizeOf(note), 0);
      copied(notes.length, bytes);
    }
  }
  // After the feeds, because a feed that was restored by hand keeps its read id.
  for await (const readIds of batches<ReadId>(source.retiredReadIds(), BATCH_READ_IDS))
    await target.addRetiredReadIds(readIds);
}

function sizeOf({ bytes }: ArchivedNote): number {
  return bytes.byteLength;
}

async function* batches<T>(
  all: AsyncIterable<T>,
  maxCount: number,
  size: (one: T) => number = () => 0,
): AsyncIterable<readonly T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for await (const one of all) {
    batch.push(one);
    bytes += size(one);
    if (batch.length < maxCount && bytes < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

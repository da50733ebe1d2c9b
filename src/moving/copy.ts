import { createHash } from 'node:crypto';
import type { ReadId } from '../feeds/names.ts';
import type { Archive, ArchivedNote } from '../storage/archive.ts';
import { serializeMeta } from '../storage/metadata.ts';

/** The most notes and bytes in one commit, and in memory; one note at least. */
const BATCH_NOTES = 500;
const BATCH_BYTES = 8 * 1024 * 1024;
const BATCH_READ_IDS = 10_000;
const BATCH_RECORDS = 1_000;

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
  for await (const records of batches(source.records(), BATCH_RECORDS, ({ value }) => value.length))
    await target.addRecords(records);
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

/** A digest of an instance: equal if and only if the content is. */
export interface Summary {
  readonly feeds: number;
  /** Texts and pictures. */
  readonly notes: number;
  /** Of all notes. */
  readonly bytes: number;
  /** Read ids of deleted feeds. */
  readonly retiredReadIds: number;
  /** Of everything that is kept of feeds and notes, bytes and dates included, in hexadecimal. */
  readonly sha256: string;
}

/**
 * Reads everything.
 * @param read called with the bytes of each note
 */
export async function summarize(archive: Archive, read: (bytes: number) => void): Promise<Summary> {
  const hash = createHash('sha256');
  // JSON, so that no two different lists of values come to the same bytes.
  const add = (...values: unknown[]) => hash.update(`${JSON.stringify(values)}\n`);
  let [feeds, notes, bytes, retiredReadIds] = [0, 0, 0, 0];
  for await (const feed of archive.feeds()) {
    const { name, readId, title, description, showSender, image, passwordHash, changedAt } = feed;
    add(name, readId, title, description, showSender, image, passwordHash, changedAt);
    add(feed.noteCount, feed.imageCount, feed.license?.text, feed.keepDays, feed.keepNotes, feed.listed);
    feeds += 1;
    for await (const note of archive.notes(name)) {
      const { id, type, createdAt, modifiedAt, meta, others } = note;
      const size = note.bytes.byteLength;
      add(id, type, createdAt, modifiedAt, serializeMeta(meta, { others }), size);
      hash.update(note.bytes);
      notes += 1;
      bytes += size;
      read(size);
    }
  }
  for await (const readId of archive.retiredReadIds()) {
    add(readId);
    retiredReadIds += 1;
  }
  for await (const { kind, key, value, at } of archive.records()) add(kind, key, value, at);
  return { feeds, notes, bytes, retiredReadIds, sha256: hash.digest('hex') };
}

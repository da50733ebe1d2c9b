import { createHash } from 'node:crypto';
import type { Archive } from '../storage/archive.ts';
import { serializeMeta } from '../storage/metadata.ts';

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
    add(feed.noteCount, feed.imageCount, feed.license?.text);
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
  return { feeds, notes, bytes, retiredReadIds, sha256: hash.digest('hex') };
}

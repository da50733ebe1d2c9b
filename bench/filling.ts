import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NoteIds } from '../src/feeds/ids.ts';
import type { FeedName, ReadId } from '../src/feeds/names.ts';
import type { Archive, ArchivedFeed, ArchivedNote } from '../src/storage/archive.ts';
import { PostgresArchive } from '../src/storage/postgres/postgres-archive.ts';
import { SqliteArchive } from '../src/storage/sqlite/sqlite-archive.ts';

const BATCH = 1_000;

/** A note to fill in. */
export interface FilledNote {
  readonly text: Buffer;
  /** When it expires, ms since the epoch; never if undefined. */
  readonly expires?: number;
}

/** Puts feeds and notes into a storage without the service. */
export interface Filling {
  addFeed(name: string, readId: string, notes: Iterable<FilledNote>): Promise<void>;
  close(): Promise<void>;
}

/** The file of the SQLite database that is filled. */
export function databaseFile(dir: string): string {
  return join(dir, 'notefeed.db');
}

/**
 * @param kind a value of SERVICE_STORAGE
 * @param dir the data folder
 * @param url of the PostgreSQL database
 */
export async function openFilling(kind: string, dir: string, url: string, ids: NoteIds): Promise<Filling> {
  if (kind === 'fs')
    return { addFeed: async (...feed) => fillFolder(dir, ids, ...feed), close: async () => {} };
  if (kind === 'sqlite') writeFileSync(databaseFile(dir), '');
  const archive: Archive =
    kind === 'sqlite' ? SqliteArchive.open(databaseFile(dir)) : await PostgresArchive.open(url);
  return {
    addFeed: (...feed) => fillArchive(archive, ids, ...feed),
    close: () => archive.close(),
  };
}

function fillFolder(
  dir: string,
  ids: NoteIds,
  name: string,
  readId: string,
  notes: Iterable<FilledNote>,
): void {
  const folder = join(dir, name);
  mkdirSync(folder);
  writeFileSync(join(folder, '.readid'), readId);
  for (const { text, expires } of notes) {
    const file = `${ids.next()}.md`;
    writeFileSync(join(folder, file), text);
    if (expires === undefined) continue;
    writeFileSync(
      join(folder, `.${file}.json`),
      JSON.stringify({ expires: new Date(expires).toISOString() }),
    );
  }
}

async function fillArchive(
  archive: Archive,
  ids: NoteIds,
  name: string,
  readId: string,
  notes: Iterable<FilledNote>,
): Promise<void> {
  const feed: ArchivedFeed = {
    ...{ name: name as FeedName, readId: readId as ReadId, title: '', description: '' },
    ...{ showSender: true, listed: false, image: undefined, passwordHash: undefined, license: undefined },
    ...{ keepDays: undefined, keepNotes: undefined, changedAt: Date.now(), noteCount: 0, imageCount: 0 },
  };
  await archive.addFeed(feed);
  let batch: ArchivedNote[] = [];
  for (const { text, expires } of notes) {
    const now = Date.now();
    const meta = { tags: [], expires };
    batch.push({ id: ids.next(), type: 'md', createdAt: now, modifiedAt: now, meta, bytes: text });
    if (batch.length < BATCH) continue;
    await archive.addNotes(feed, batch);
    batch = [];
  }
  await archive.addNotes(feed, batch);
}

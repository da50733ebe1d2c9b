/** Commits of notes to a database in groups, and nothing else: no checks, no counters, one table. */
import { randomUUID } from 'node:crypto';
import Database from 'better-sqlite3';
import { Client } from 'pg';
import { byteaArray } from '../src/storage/postgres/note-rows.ts';

/** Where notes are committed to: the file of a SQLite database or the address of a PostgreSQL one. */
export type CommitPlace = { readonly file: string } | { readonly url: string };

export interface Commits {
  /** Stores a group of notes with one commit. */
  commit(notes: readonly Uint8Array[]): void | Promise<void>;
  close(): void | Promise<void>;
}

export function openCommits(place: CommitPlace): Commits | Promise<Commits> {
  return 'file' in place ? sqliteCommits(place.file) : postgresCommits(place.url);
}

/** Set up as the service's own database is. */
function sqliteCommits(file: string): Commits {
  const db = new Database(file);
  db.pragma('page_size = 8192');
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec(
    'CREATE TABLE IF NOT EXISTS notes (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, content BLOB NOT NULL)',
  );
  const insert = db.prepare('INSERT INTO notes (id, content) VALUES (?, ?)');
  const commit = db.transaction((notes: readonly Uint8Array[]) => {
    for (const note of notes) insert.run(newId(), note);
  });
  return { commit, close: () => void db.close() };
}

async function postgresCommits(url: string): Promise<Commits> {
  const client = new Client(url);
  await client.connect();
  await client.query('CREATE TABLE IF NOT EXISTS bare (id text PRIMARY KEY, content bytea NOT NULL)');
  const text = 'INSERT INTO bare (id, content) SELECT * FROM unnest($1::text[], $2::bytea[])';
  return {
    commit: async (notes) => {
      await client.query({ name: 'insert', text, values: [notes.map(newId), byteaArray(notes)] });
    },
    close: () => client.end(),
  };
}

function newId(): string {
  return `${Date.now()}-${randomUUID()}`;
}

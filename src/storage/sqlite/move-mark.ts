import type { Database } from 'better-sqlite3';

/**
 * The mark of an unfinished move into the database; undefined without one. Its table exists only as long, so it is no part
 * of the schema.
 */
export function readMoveMark(db: Database): string | undefined {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'move'").get();
  if (table === undefined) return undefined;
  return db.prepare<[], { mark: string }>('SELECT mark FROM move').get()?.mark ?? '';
}

/** Writes the mark; undefined removes it. */
export function writeMoveMark(db: Database, mark: string | undefined): void {
  db.transaction(() => {
    db.exec('DROP TABLE IF EXISTS move');
    if (mark === undefined) return;
    db.exec('CREATE TABLE move (mark TEXT NOT NULL) STRICT');
    db.prepare('INSERT INTO move (mark) VALUES (?)').run(mark);
  }).immediate();
}

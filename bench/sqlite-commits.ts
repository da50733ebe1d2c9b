/**
 * A bare loop that does nothing but commit notes in groups to a SQLite file, as the service's own database is set
 * up. Called with JSON: the file, how many notes of 1 KB are in a group, and for how long; prints the notes a second.
 */
import { randomUUID } from 'node:crypto';
import Database from 'better-sqlite3';

export interface SqliteGroups {
  readonly file: string;
  readonly group: number;
  readonly seconds: number;
}

const { file, group, seconds } = JSON.parse(process.argv[2]!) as SqliteGroups;
const db = new Database(file);
db.pragma('page_size = 8192');
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec(
  'CREATE TABLE IF NOT EXISTS notes (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, content BLOB NOT NULL)',
);
const insert = db.prepare('INSERT INTO notes (id, content) VALUES (?, ?)');
const content = Buffer.alloc(1024, 'x');
const commit = db.transaction(() => {
  for (let n = 0; n < group; n++) insert.run(`${Date.now()}-${randomUUID()}`, content);
});
const begun = performance.now();
let count = 0;
for (; performance.now() - begun < seconds * 1000; count += group) commit();
const perSecond = (count / (performance.now() - begun)) * 1000;
db.close();
console.log(JSON.stringify({ perSecond }));

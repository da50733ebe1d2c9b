/**
 * `schemas/sqlite-<version>.sql` is a database as each version of the schema made it, as text: a feed with a picture, a
 * text and a password, one without notes, and a deleted one whose note has yet to be cleared away.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import type { NoteFile, NoteId, ReadId } from '../../src/feeds/names.ts';
import { migrate, SCHEMA_VERSION } from '../../src/storage/sqlite/schema.ts';
import { databaseIn } from '../support/open-backend.ts';
import { NEW } from '../support/storing.ts';
import { bytesOf, feedName, newNote } from './contract.ts';
import { dataFolder, eventually } from './files-support.ts';
import { opened } from './sqlite-support.ts';

const SCHEMAS = join(import.meta.dirname, 'schemas');
const PICTURE = '20261102T080000Z-019a4382-0000-7000-8000-000000000002' as NoteId;
const TEXT = '20261103T080000Z-019a48a8-0000-7000-8000-000000000003' as NoteId;

const fixtureOf = (version: number) => `sqlite-${version}.sql`;
const versions = Array.from({ length: SCHEMA_VERSION }, (_, i) => i + 1);

/** A database as that version left it. */
function databaseOf(version: number, path = ':memory:'): Database.Database {
  const db = new Database(path);
  db.exec(readFileSync(join(SCHEMAS, fixtureOf(version)), 'utf8'));
  return db;
}

/** The statements that make its tables and indexes. */
const schemaOf = (db: Database.Database) =>
  db.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all();

t.test('every version of the schema has its fixture', async (t) => {
  t.same(readdirSync(SCHEMAS).sort(), versions.map(fixtureOf).sort());
  for (const version of versions)
    t.equal(databaseOf(version).pragma('user_version', { simple: true }), version);
});

for (const version of versions) {
  t.test(`version ${version} is upgraded to what a new database is`, async (t) => {
    const [upgraded, made] = [databaseOf(version), new Database(':memory:')];
    for (const db of [upgraded, made]) migrate(db);
    t.same(schemaOf(upgraded), schemaOf(made));
    t.equal(upgraded.pragma('user_version', { simple: true }), SCHEMA_VERSION);
  });

  t.test(`all that version ${version} stored is there`, async (t) => {
    const dir = await dataFolder(t);
    databaseOf(version, databaseIn(dir)).close();
    const storage = await opened(t, dir);
    const diary = await storage.feedByReadId('my-diary' as ReadId);
    t.match(diary, {
      key: '2',
      name: 'diary',
      title: 'Diary',
      description: "It's mine",
      showSender: false,
      image: `${PICTURE}.png`,
      passwordHash: '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g',
      changedAt: 1795278830174,
      noteCount: 2,
      imageCount: 1,
    });
    t.same(await storage.feed(feedName('diary')), diary);
    t.match(await storage.feed(feedName('empty')), { readId: 'still-empty', noteCount: 0, title: '' });

    const picture = {
      id: PICTURE,
      type: 'png',
      size: 10,
      createdAt: 1793606400000,
      meta: { alt: 'A cat', name: 'my cat.png', tags: ['cat'] },
      content: undefined,
    };
    const text = {
      id: TEXT,
      type: 'md',
      size: 19,
      createdAt: 1793692800000,
      meta: { title: 'Größe', sender: 'Ann', tags: ['a', 'cat'] },
      content: new Uint8Array(Buffer.from('\uFEFF# Grüße\r\n\0 end')),
    };
    const name = feedName('diary');
    t.same(await storage.page(name, { limit: 9 }), { notes: [text, picture], next: undefined });
    t.same((await storage.page(name, { limit: 9, tag: 'cat' })).notes, [text, picture]);
    t.same((await storage.page(name, { limit: 9, tag: 'a' })).notes, [text]);
    t.same(await storage.note(name, TEXT), text);
    const file = await storage.open(name, `${PICTURE}.png` as NoteFile);
    t.match(file, { modifiedAt: 1795278830169, sha256: 'Yt5MN0c0tZ0Z2dSAkUJ0oXCPY8nYvNlW8nCwFvYqk9s' });
    t.equal((await bytesOf(file!)).toString('hex'), '89504e470d0a1a0a00ff');

    t.equal(await storage.feed(feedName('gone')), undefined);
    const taken = { ...NEW, readId: 'once-taken' as ReadId };
    await t.rejects(storage.post(feedName('gone'), [newNote('x')], taken), { code: 'taken' });
    const db = new Database(databaseIn(dir), { readonly: true });
    const count = db.prepare<[], { count: number }>('SELECT count(*) AS count FROM notes');
    t.ok(await eventually(() => count.get()?.count === 2), 'what the deleted feed has left is cleared away');
    db.close();
    t.match(
      await storage.post(name, [newNote('new')], { kind: 'existing', passwordHash: diary?.passwordHash }),
      {
        noteCount: 3,
      },
    );
  });
}

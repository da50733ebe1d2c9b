/** How fast, and in how much memory, a folder of 100,000 pictures and a bucket of 10,000 are compared with the notes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import Database from 'better-sqlite3';
import t from 'tap';
import { newImageKey } from '../src/feeds/ids.ts';
import { FolderStore } from '../src/images/folder-store.ts';
import type { ImageStore } from '../src/images/image-store.ts';
import { S3Store } from '../src/images/s3-store.ts';
import { findOrphans } from '../src/images/unreferenced.ts';
import { openSqlite } from '../src/storage/sqlite/sqlite.ts';
import { clientOf, SwiftServer } from '../test/support/swift.ts';

const FILES = 100_000;
const OBJECTS = Number(process.env.OBJECTS ?? 10_000);
const MIB = 1024 * 1024;

// The supports of tests are tests to tap, which would end them.
t.setTimeout(0);

const ends: (() => unknown)[] = [];
const scope = { teardown: (end: () => unknown) => ends.unshift(end) };

/** A database in which pictures have these keys. */
async function rowsOf(dir: string, keys: readonly string[]) {
  const file = join(dir, 'notes.db');
  const storage = await openSqlite({ file, maxFeeds: 0, maxBytes: 0, keepDays: 0, log: console });
  ends.unshift(() => storage.close());
  const db = new Database(file);
  const insert = db.prepare(
    `INSERT INTO notes (feed, id, type, created_at, modified_at, size, content, image_key) VALUES (1, ?, 1, ?, 0, 10, X'', ?)`,
  );
  db.transaction(() => {
    for (const [n, key] of keys.entries()) insert.run(`note-${n}`, n, key);
  })();
  db.close();
  return storage.pictureRows;
}

async function measureExamining(name: string, store: ImageStore, keys: readonly string[]): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'note-feed-bench-'));
  ends.push(() => rm(dir, { recursive: true, force: true }));
  const rows = await rowsOf(dir, keys);
  await rows.countFreed();
  for (let round = 1; round <= 2; round += 1) {
    global.gc?.();
    const before = process.memoryUsage.rss();
    let most = before;
    let isOver = false;
    const watching = (async () => {
      while (!isOver) {
        most = Math.max(most, process.memoryUsage.rss());
        await nextTurn();
      }
    })();
    const begunAt = performance.now();
    const result = await findOrphans({ rows, store }, false);
    const seconds = (performance.now() - begunAt) / 1000;
    isOver = true;
    await watching;
    const rate = Math.round(keys.length / seconds);
    const growth = ((most - before) / MIB).toFixed(1);
    console.log(
      `${name}, round ${round}: ${rate} objects a second, ${growth} MiB of growth, missing ${result.missing}`,
    );
  }
}

try {
  const dir = await mkdtemp(join(tmpdir(), 'note-feed-bench-'));
  ends.push(() => rm(dir, { recursive: true, force: true }));
  const images = join(dir, 'images');
  mkdirSync(images);
  const keys = Array.from({ length: FILES }, newImageKey);
  for (const key of keys) writeFileSync(join(images, key), '0123456789');
  await measureExamining(`a folder of ${FILES}`, new FolderStore(images), keys);
  const server = await SwiftServer.start(scope);
  const place = await server.bucket();
  const bare = clientOf(place);
  const objects = keys.slice(0, OBJECTS);
  for (let at = 0; at < objects.length; at += 20)
    await Promise.all(
      objects
        .slice(at, at + 20)
        .map((Key) => bare.send(new PutObjectCommand({ Bucket: place.bucket, Key, Body: '0123456789' }))),
    );
  bare.destroy();
  const store = new S3Store(place);
  await measureExamining(`a bucket of ${OBJECTS}`, store, objects);
  store.close();
} finally {
  for (const end of ends) await end();
}
process.exit();

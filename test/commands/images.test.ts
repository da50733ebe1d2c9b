/** `move` and `backup` of an instance on SQLite whose pictures are in an image store. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ImagePlace } from '../../src/images/open-images.ts';
import { FeedClient } from '../support/feed-client.ts';
import { imageSettings, ON_SQLITE } from '../support/image-settings.ts';
import { missing } from '../support/installed.ts';
import { runMove } from '../support/moving.ts';
import { picture } from '../support/pictures.ts';
import { ask, start, tempDir } from '../support/service.ts';
import { SwiftServer } from '../support/swift.ts';

t.setTimeout(600_000);

const MAIN = new URL('../../src/main.cjs', import.meta.url).pathname;
const PNG = { 'content-type': 'image/png' };
const PICTURES = [300, 70_000, 400_000].map((size, n) => picture('png', size, n));
const noSwift = missing('swift');
const swift = noSwift ? undefined : await SwiftServer.start(t);

/** The database of a service with its pictures in that place, and their paths. */
async function filled(t: Test, place: ImagePlace) {
  const dir = await tempDir(t);
  const service = await start(t, { ...ON_SQLITE, ...imageSettings(place) }, dir);
  const feed = new FeedClient(service.url, 'feed');
  await feed.post('a text');
  const paths: string[] = [];
  for (const bytes of PICTURES) {
    const { json } = await feed.post(bytes, { ...PNG, 'x-read-id': 'read-id' });
    paths.push(new URL(json.file_url).pathname);
  }
  await service.stop();
  return { dir, file: join(dir, 'notefeed.db'), paths };
}

/** Whether a service with these settings has all the pictures. */
async function hasPictures(
  t: Test,
  paths: readonly string[],
  settings: Record<string, string>,
  dir: string,
): Promise<void> {
  const service = await start(t, { ...ON_SQLITE, ...settings }, dir);
  for (const [n, path] of paths.entries()) {
    const { status, bytes } = await ask(service.url + path);
    t.ok(status === 200 && bytes.equals(PICTURES[n]!), `${status}`);
  }
  await service.stop();
}

const folderPlace = async (t: Test) => ({ kind: 'fs', dir: join(await tempDir(t), 'pictures') }) as const;

t.test('pictures in a folder are moved as bytes', async (t) => {
  const place = await folderPlace(t);
  const { file, paths } = await filled(t, place);
  const from = `sqlite:${file}`;
  const parent = await tempDir(t);
  mkdirSync(join(parent, 'database'));
  const [files, database] = [join(parent, 'files'), join(parent, 'database/notefeed.db')];

  const { code, stderr } = await runMove(from, `fs:${join(parent, 'none')}`);
  t.same(code, 1);
  t.match(stderr, /pictures in an image store: run the move with the SERVICE_IMAGES settings of the service/);

  const moved = await runMove(from, `sqlite:${database}`, imageSettings(place));
  t.match(moved, { code: 0, stderr: '', stdout: /^Moved and compared: 1 feed, 4 notes / });
  t.same(await runMove(from, `fs:${files}`, imageSettings(place)), moved);

  rmSync(place.dir, { recursive: true });
  await hasPictures(t, paths, imageSettings(place), join(parent, 'database'));
  await hasPictures(t, paths, { SERVICE_STORAGE: 'fs' }, files);
  t.match(await runMove(from, `fs:${join(parent, 'late')}`, imageSettings(place)), {
    code: 1,
    stderr:
      /The picture of the note "\d{8}T\d{6}Z-[0-9a-f-]{36}" is gone from its image store \(SERVICE_IMAGES\)/,
  });
});

t.test('so are pictures in a bucket', { skip: noSwift }, async (t) => {
  const place: ImagePlace = { kind: 's3', ...(await swift!.bucket()) };
  const { file, paths } = await filled(t, place);
  const files = join(await tempDir(t), 'files');
  const moved = await runMove(`sqlite:${file}`, `fs:${files}`, imageSettings(place));
  t.match(moved, { code: 0, stderr: '', stdout: /^Moved and compared: 1 feed, 4 notes / });
  await hasPictures(t, paths, { SERVICE_STORAGE: 'fs' }, files);
});

t.test('a backup and a copy of the folder after it are the whole instance', async (t) => {
  const place = await folderPlace(t);
  const { dir, file, paths } = await filled(t, place);
  const restored = await tempDir(t);
  const env = { PATH: process.env.PATH, DATA_DIR: dir, ...ON_SQLITE, ...imageSettings(place) };
  const target = join(restored, 'notefeed.db');
  const args = [MAIN, 'backup', target];
  const said = await new Promise((resolve, reject) =>
    execFile(process.execPath, args, { env }, (error, stdout) => (error ? reject(error) : resolve(stdout))),
  );
  t.match(
    said,
    /^Pictures are in the image store \(SERVICE_IMAGES\), .* copy that by itself, after this\.\n/,
  );
  cpSync(place.dir, join(restored, 'images'), { recursive: true });
  for (const old of [file, place.dir]) rmSync(old, { recursive: true });
  await hasPictures(t, paths, { SERVICE_IMAGES: 'fs' }, restored);
});

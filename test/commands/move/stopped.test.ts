/** Moves that are killed in the middle, gone on with, and compared. */
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { filesIn, type PlacedFile, placeFiles, runMove, startMove } from '../../support/moving.ts';
import { tempDir } from '../../support/service.ts';
import { ServiceProcess } from '../../support/service-process.ts';

t.setTimeout(180_000);

const SECRET = { SERVICE_SECRET: 'a secret of tests that is long enough' };
/** More than a few batches. */
const NOTES = 3_000;
const FEEDS = ['first', 'second'];

/** A data folder with two feeds of as many notes. */
function fill(dir: string): void {
  const files = FEEDS.flatMap((feed): PlacedFile[] => [
    [`${feed}/.readid`, `read-${feed}\n`, 0],
    ...Array.from(
      { length: NOTES / FEEDS.length },
      (_, n): PlacedFile => [`${feed}/note ${n}.md`, `${feed} ${n}`, n],
    ),
  ]);
  placeFiles(dir, files);
  for (const feed of FEEDS) utimesSync(join(dir, feed), 0, 1_000_000_000);
}

const notesIn = (dir: string) =>
  FEEDS.map((feed) => join(dir, feed))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder))
    .filter((name) => name.startsWith('note')).length;

function notesInDatabase(file: string): number {
  if (!existsSync(file) || statSync(file).size === 0) return 0;
  const db = new Database(file, { readonly: true });
  try {
    return (db.prepare('SELECT count(*) AS count FROM notes').get() as { count: number }).count;
  } catch {
    return 0; // The tables are not there yet.
  } finally {
    db.close();
  }
}

/** Starts a move and kills it as soon as the target has so many notes; returns how many it has then. */
async function killAt(from: string, to: string, notes: number, count: () => number): Promise<number> {
  const running = startMove(from, to, SECRET);
  let ended = false;
  running.result.then(() => {
    ended = true;
  });
  while (!ended && count() < notes) await wait(1);
  running.process.kill('SIGKILL');
  await running.result;
  return count();
}

async function refusesToStart(t: Test, env: Record<string, string>, dir: string): Promise<void> {
  const service = await ServiceProcess.launch(t, { dir, env: { ...SECRET, ...env } });
  t.match(await service.exit, { code: 1 });
  t.match(
    service.errors,
    /is the target of a move that has not been finished: run the same "npm run move" again/,
  );
}

t.test('a move into files goes on where it was killed, and nothing starts on a half', async (t) => {
  const dir = await tempDir(t);
  const [source, target] = [join(dir, 'source'), join(dir, 'target')];
  fill(source);
  const kill = (notes: number) => killAt(`fs:${source}`, `fs:${target}`, notes, () => notesIn(target));
  const there = await kill(1);
  await refusesToStart(t, { SERVICE_STORAGE: 'fs' }, target);
  const later = await kill(there + NOTES / 2);
  t.ok(0 < there && there < later && later < NOTES, `killed with ${there} and ${later} notes`);
  t.match(await runMove(`fs:${target}`, `fs:${join(dir, 'third')}`), {
    code: 1,
    stderr: 'The source is the target of a move that has not been finished.\n',
  });
  placeFiles(join(dir, 'other'), [['feed/note.md', 'x', 0]]);
  t.match(await runMove(`fs:${join(dir, 'other')}`, `fs:${target}`, SECRET), {
    code: 1,
    stderr: 'The target is already being moved into from another place.\n',
  });
  const { code, stdout } = await runMove(`fs:${source}`, `fs:${target}`);
  t.equal(code, 0);
  t.match(
    stdout,
    /^Going on: [\d,]+ of 3,000 notes are there\.\n(.*\n)*Moved and compared: 2 feeds, 3,000 notes/,
  );
  t.same(filesIn(target), filesIn(source));
  t.same(readdirSync(target).sort(), ['.lock', ...FEEDS]);
  await (await ServiceProcess.start(t, { dir: target })).kill('SIGTERM');
});

t.test('a move into a database goes on where it was killed, and nothing starts on a half', async (t) => {
  const dir = await tempDir(t);
  const [source, data, again] = ['source', 'data', 'again'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  fill(source);
  mkdirSync(data);
  const file = join(data, 'notefeed.db');
  const kill = (notes: number) =>
    killAt(`fs:${source}`, `sqlite:${file}`, notes, () => notesInDatabase(file));
  const there = await kill(1);
  await refusesToStart(t, { SERVICE_STORAGE: 'sqlite' }, data);
  const later = await kill(there + 1);
  t.ok(0 < there && there < later && later < NOTES, `killed with ${there} and ${later} notes`);
  const { code, stdout } = await runMove(`fs:${source}`, `sqlite:${file}`);
  t.equal(code, 0);
  t.match(
    stdout,
    /^Going on: [\d,]+ of 3,000 notes are there\.\n(.*\n)*Moved and compared: 2 feeds, 3,000 notes/,
  );
  t.match(await runMove(`sqlite:${file}`, `fs:${again}`), { code: 0 });
  t.same(filesIn(again), filesIn(source));
});

t.test('what was changed in the target meanwhile is found, and the target stays marked', async (t) => {
  const dir = await tempDir(t);
  const [source, target, file] = ['source', 'target', 'target.db'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  fill(source);
  const differs =
    /^The target is not the same as the source: it holds 2 feeds, 3,000 notes .* and the source 2 feeds/;

  await killAt(`fs:${source}`, `fs:${target}`, 1, () => notesIn(target));
  const note = join(target, 'first', 'note 0.md');
  const { atime, mtime } = statSync(note);
  writeFileSync(note, 'First 0');
  utimesSync(note, atime, mtime);
  t.match(await runMove(`fs:${source}`, `fs:${target}`), { code: 1, stderr: differs });
  await refusesToStart(t, { SERVICE_STORAGE: 'fs' }, target);
  writeFileSync(note, 'first 0');
  utimesSync(note, atime, mtime);
  t.match(await runMove(`fs:${source}`, `fs:${target}`), { code: 0 });

  await killAt(`fs:${source}`, `sqlite:${file}`, 1, () => notesInDatabase(file));
  const db = new Database(file);
  const change = db.prepare("UPDATE notes SET content = ? WHERE id = 'note 0' AND feed = 1");
  change.run(Buffer.from('First 0'));
  t.match(await runMove(`fs:${source}`, `sqlite:${file}`), { code: 1, stderr: differs });
  change.run(Buffer.from('first 0'));
  db.close();
  t.match(await runMove(`fs:${source}`, `sqlite:${file}`), { code: 0 });
});

/** Moves that are killed in the middle, gone on with, and compared with what was changed in the target meanwhile. */
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { IN_SOAK } from '../../support/effort.ts';
import { type PlacedFile, placeFiles, type RunningMove, runMove, startMove } from '../../support/moving.ts';
import { PostgresServer } from '../../support/postgres.ts';
import { tempDir } from '../../support/service.ts';
import { ServiceProcess } from '../../support/service-process.ts';

t.setTimeout(600_000);

const SECRET = { SERVICE_SECRET: 'a secret of tests that is long enough' };
/** A few batches. */
const NOTES = 2_000;
const FEEDS = ['first', 'second'];
const NOTE = 'first 0';

/** What a test needs to know of one backend. */
interface Target {
  /** As `move` takes it. */
  readonly place: string;
  /** The settings of a service there. */
  readonly settings: Record<string, string>;
  readonly dir: string;
  /** How many notes it has; 0 as long as it is not made. */
  count(): Promise<number> | number;
  /** Gives the first note of the first feed other bytes. */
  write(text: string): Promise<unknown> | unknown;
}

type MakeTarget = (dir: string, server: PostgresServer) => Promise<Target>;

const TARGETS: Readonly<Record<string, MakeTarget>> = {
  files: async (dir) => {
    const note = join(dir, 'first', 'note 0.md');
    return {
      place: `fs:${dir}`,
      settings: { SERVICE_STORAGE: 'fs' },
      dir,
      count: () =>
        FEEDS.map((feed) => join(dir, feed))
          .filter((folder) => existsSync(folder))
          .flatMap((folder) => readdirSync(folder))
          .filter((name) => name.startsWith('note')).length,
      write: (text) => {
        const { atime, mtime } = statSync(note);
        writeFileSync(note, text);
        utimesSync(note, atime, mtime);
      },
    };
  },
  sqlite: async (dir) => {
    const file = join(dir, 'notefeed.db');
    mkdirSync(dir);
    const opened = <T>(work: (db: Database.Database) => T): T => {
      const db = new Database(file);
      try {
        return work(db);
      } finally {
        db.close();
      }
    };
    return {
      place: `sqlite:${file}`,
      settings: { SERVICE_STORAGE: 'sqlite' },
      dir,
      count: () => {
        if (!existsSync(file)) return 0;
        return opened((db) => {
          const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'move'").get();
          return table ? Number(db.prepare('SELECT count(*) FROM notes').pluck().get()) : 0;
        });
      },
      write: (text) =>
        opened((db) =>
          db.prepare("UPDATE notes SET content = ? WHERE id = 'note 0' AND feed = 1").run(Buffer.from(text)),
        ),
    };
  },
  postgres: async (dir, server) => {
    const url = await server.database();
    return {
      place: url,
      settings: { SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: url },
      dir,
      count: async () => {
        const [found] = await server.sql(url, "SELECT to_regclass('note_feed_move') IS NOT NULL AS is_there");
        const [row] = found?.is_there ? await server.sql(url, 'SELECT count(*) FROM notes') : [];
        return Number(row?.count ?? 0);
      },
      write: (text) =>
        server.sql(url, "UPDATE notes SET content = $1 WHERE id = 'note 0' AND feed = 1", [
          Buffer.from(text),
        ]),
    };
  },
};

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

/** Waits until the target of a move has notes, or the move has ended. */
async function untilNotesAreThere({ process }: RunningMove, { count }: Target): Promise<void> {
  const hasEnded = () => process.exitCode !== null || process.signalCode !== null;
  while (!hasEnded() && (await count()) === 0) await wait(5);
}

/** A move that stands still with some of the notes in its target only. Where it was further already, another one is begun. */
async function halfMoved(t: Test, from: string, makeTarget: () => Promise<Target>) {
  for (;;) {
    const target = await makeTarget();
    const running = startMove(from, target.place);
    t.teardown(() => running.process.kill('SIGKILL'));
    await untilNotesAreThere(running, target);
    running.process.kill('SIGSTOP');
    const count = await target.count();
    if (count > 0 && count < NOTES) return { target, running };
    running.process.kill('SIGKILL');
    await running.result;
  }
}

async function refusesToStart(t: Test, { dir, settings }: Target): Promise<void> {
  const service = await ServiceProcess.launch(t, { dir, env: { ...SECRET, ...settings } });
  t.match(await service.exit, { code: 1 });
  t.match(
    service.errors,
    /is the target of a move that has not been finished: run the same "npm run move" again/,
  );
}

const server = await PostgresServer.start(t);

for (const [name, makeTarget] of Object.entries(TARGETS))
  t.test(
    `a move into ${name} goes on where it was killed, and nothing starts on a half`,
    name === 'sqlite' ? {} : IN_SOAK,
    async (t) => {
      const dir = await tempDir(t);
      const source = join(dir, 'source');
      fill(source);
      let targets = 0;
      const { target, running } = await halfMoved(t, `fs:${source}`, () => {
        targets += 1;
        return makeTarget(join(dir, `target-${targets}`), server);
      });
      running.process.kill('SIGKILL');
      await running.result;
      await refusesToStart(t, target);
      await target.write(NOTE.toUpperCase());
      t.match(await runMove(`fs:${source}`, target.place), {
        code: 1,
        stdout: /^Going on: [\d,]+ of 2,000 notes are there\.\n/,
        stderr:
          /^The target is not the same as the source: it holds 2 feeds, 2,000 notes .* and the source 2 feeds/,
      });
      await target.write(NOTE);
      t.match(await runMove(`fs:${source}`, target.place), {
        code: 0,
        stdout:
          /^Going on: 2,000 of 2,000 notes are there\.\n(.*\n)*Moved and compared: 2 feeds, 2,000 notes/,
      });
    },
  );

t.test('a move that has lost its lock does not say that all was well', IN_SOAK, async (t) => {
  const dir = await tempDir(t);
  const source = join(dir, 'source');
  fill(source);
  const cutOff = (url: string) =>
    server.sql(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON pg_database.oid = database
       WHERE locktype = 'advisory' AND datname = current_database()`,
    );
  const { target, running: into } = await halfMoved(t, `fs:${source}`, () => TARGETS.postgres!(dir, server));
  t.equal((await cutOff(target.place)).length, 1);
  into.process.kill('SIGCONT');
  t.match(await into.result, {
    code: 1,
    stdout: /^(?!.*Moved)/s,
    stderr: /^The lock on the target was lost/,
  });
  t.match(await runMove(`fs:${source}`, target.place), { code: 0 });
  let targets = 0;
  const { target: next, running: from } = await halfMoved(t, target.place, () => {
    targets += 1;
    return TARGETS.sqlite!(join(dir, `next-${targets}`), server);
  });
  t.equal((await cutOff(target.place)).length, 1);
  from.process.kill('SIGCONT');
  t.match(await from.result, {
    code: 1,
    stdout: /^(?!.*Moved)/s,
    stderr: /^The lock on the source was lost/,
  });
  t.match(await runMove(target.place, next.place), { code: 0 });
});

t.test('a move goes on after a crash of the server', IN_SOAK, async (t) => {
  const dir = await tempDir(t);
  const source = join(dir, 'source');
  fill(source);
  const { target, running } = await halfMoved(t, `fs:${source}`, () => TARGETS.postgres!(dir, server));
  await server.stop('SIGQUIT');
  running.process.kill('SIGCONT');
  const stopped = await running.result;
  await server.start();
  t.match(stopped, { code: 1, stderr: /^The move was stopped \(.+\)\. Run it again to go on\.\n$/ });
  t.notMatch(stopped.stderr, target.place);
  t.match(await runMove(`fs:${source}`, target.place), { code: 0 });
});

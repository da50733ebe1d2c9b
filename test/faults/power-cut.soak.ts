/**
 * Power cuts under load, on every storage: ext4 in a loop device is shut down without a flush of its journal, every
 * process is killed, and a start on what is left shows what was acknowledged, and of the rest all or nothing. With syncs
 * that do nothing the same look finds losses.
 *
 * POWER_CUTS is the number of cuts for each place (2: one takes 3 s of CPU and more); POWER_PLACES names some of them, for example
 * `fs,sqlite/db`; POWER_SEED (a number, which is printed) repeats what clients choose and at which answer the power goes,
 * though not how their requests meet.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { missing } from '../support/installed.ts';
import { differences } from '../support/power/check.ts';
import { CANNOT_CUT, CutDisk } from '../support/power/cut-disk.ts';
import { Ledger } from '../support/power/ledger.ts';
import { Machine, type Place } from '../support/power/machine.ts';
import { withoutSync } from '../support/power/without-sync.ts';
import { Writer } from '../support/power/writer.ts';
import { randomNumbers } from '../support/random.ts';

const { POWER_CUTS = '2', POWER_PLACES, POWER_SEED = String(randomInt(2 ** 31)) } = process.env;
const CUTS = Number(POWER_CUTS);
const SEED = Number(POWER_SEED);

const PLACES: Record<string, Place> = {
  fs: { storage: 'fs', images: 'db' },
  'sqlite/db': { storage: 'sqlite', images: 'db' },
  'sqlite/fs': { storage: 'sqlite', images: 'fs' },
  'postgres/db': { storage: 'postgres', images: 'db' },
  'postgres/fs': { storage: 'postgres', images: 'fs' },
};
const NAMES = POWER_PLACES?.split(',') ?? Object.keys(PLACES);

/** Where a look must find losses, because something is not synced. */
const CONTROLS = (
  [
    ['fs', 'folders'],
    ['fs', 'files'],
    ['sqlite/db', 'files'],
    ['postgres/fs', 'files'],
  ] as const
).filter(([name]) => NAMES.includes(name));
/** Most of what is not synced is lost at the first. */
const CONTROL_CUTS = 10;

/** Until a disk is replaced by a fresh one. */
const CUTS_PER_DISK = 10;
/** After which the others are not worth the time. */
const MAX_FAILURES = 5;
/** One in so many disks has an index of the search. */
const SEARCHED_DISKS = 3;
const DISK = '256m';
/** With the second, names may be durable long before the bytes of their files. */
const MOUNTS = ['defaults', 'data=writeback,noauto_da_alloc'];
const CLIENTS = [1, 2, 4, 8];
const MAX_ANSWERS = 60;
const MAX_CUT_AFTER_MS = 40;
const MAX_KILL_AFTER_MS = 30;
const MAX_ROUND_MS = 60_000;
/** On a machine that is busy with much else. */
const MAX_CUT_MS = 180_000;

t.setTimeout((CUTS + 3 * CONTROL_CUTS) * NAMES.length * MAX_CUT_MS);

/** Has clients write, and cuts the power at an answer or a moment after it. */
async function writeUntilCut(
  machine: Machine,
  ledger: Ledger,
  number: number,
  seed: number,
): Promise<string[]> {
  const random = randomNumbers(seed);
  const int = (end: number) => Math.floor(random() * end);
  const problems: string[] = [];
  const { disk, service } = machine;
  const clients = CLIENTS[int(CLIENTS.length)]!;
  const isAtAnswer = int(2) === 0;
  const cutAfter = int(MAX_CUT_AFTER_MS);
  const killAfter = int(MAX_KILL_AFTER_MS);
  const enough = Promise.withResolvers<void>();
  let awaited = 1 + int(MAX_ANSWERS);
  const onAnswer = () => {
    awaited -= 1;
    if (awaited !== 0) return;
    // At once: what was answered last has no other request's sync to hide behind.
    if (isAtAnswer) disk.cut();
    enough.resolve();
  };
  const round = { url: service.url, ledger, number, isCut: () => disk.isCut, onAnswer, problems };
  const writing = Promise.all(
    Array.from({ length: clients }, (_, index) => new Writer(round, index, seed + 1 + index).run()),
  );
  await Promise.race([enough.promise, writing, delay(MAX_ROUND_MS, undefined, { ref: false })]);
  if (!isAtAnswer) await delay(cutAfter);
  await machine.cut(killAfter);
  await writing;
  return problems;
}

/** Cuts a disk off several times. Returns the differences after the first cut that has any, and how many cuts were made. */
async function cutAgainAndAgain(
  t: Test,
  place: Place,
  { cuts, seed, unsynced }: { cuts: number; seed: number; unsynced?: Record<string, string> },
) {
  const disk = await CutDisk.make(t, DISK, MOUNTS[seed % MOUNTS.length]);
  const ledger = new Ledger();
  const hasSearch = !unsynced && seed % SEARCHED_DISKS === 0;
  let machine: Machine | undefined;
  let cut = 0;
  let problems: string[] = [];
  try {
    machine = await Machine.start(t, disk, { ...place, hasSearch, ...(unsynced && { unsynced }) });
    while (cut < cuts && problems.length === 0) {
      cut += 1;
      problems = await writeUntilCut(machine, ledger, cut, seed + cut * 100);
      await machine.restart();
      problems.push(...(await differences(machine, ledger, cut === cuts)));
    }
  } catch (error) {
    problems.push(`it does not start, or cannot be looked at: ${error}`);
  }
  await machine?.kill();
  return { cut, problems, posts: ledger.size };
}

for (const name of NAMES) {
  t.test(
    `on ${name}, nothing acknowledged is lost and nothing is there by half`,
    { skip: CANNOT_CUT },
    async (t) => {
      let [cuts, posts, failures] = [0, 0, 0];
      for (let seed = SEED; cuts < CUTS; seed += 1) {
        await t.test(`seed ${seed}`, async (t) => {
          const left = Math.min(CUTS_PER_DISK, CUTS - cuts);
          const result = await cutAgainAndAgain(t, PLACES[name]!, { cuts: left, seed });
          cuts += result.cut;
          posts += result.posts;
          if (result.problems.length > 0) failures += 1;
          t.same(result.problems, [], `cut ${result.cut} of POWER_SEED=${seed}`);
        });
        if (failures >= MAX_FAILURES) break;
      }
      t.comment(`${name}: ${cuts} cuts, ${posts} posts, ${failures} failures, seed ${SEED}`);
    },
  );
}

for (const [name, kind] of CONTROLS)
  t.test(
    `on ${name}, it shows when ${kind} are not synced`,
    { skip: CANNOT_CUT || missing('cc') },
    async (t) => {
      const unsynced = await withoutSync(t, kind);
      const { cut, problems } = await cutAgainAndAgain(t, PLACES[name]!, {
        cuts: CONTROL_CUTS,
        seed: SEED,
        unsynced,
      });
      t.ok(
        problems.length > 0,
        `${problems.length} differences after cut ${cut}: ${problems[0]?.slice(0, 200)}`,
      );
    },
  );

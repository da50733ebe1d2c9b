/**
 * Power cuts under all kinds of writes, on every storage: ext4 in a loop device is shut down without a flush of its journal,
 * every process is killed, and a start on what is left shows what was acknowledged, and of the rest all or nothing. With syncs
 * that do nothing the same look finds losses.
 *
 * - POWER_CUTS: the number of cuts for each place, 1 by default. With more, every control runs, otherwise only the one in which folders
 *   are not synced. Pictures move from the second cut on.
 * - POWER_PLACES: the places to test, for example `fs,sqlite/db`. All their controls run.
 * - POWER_SEED: a number, which is printed. It repeats what clients choose and at which answer the power goes, though not how their
 *   requests meet.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { missing } from '../support/installed.ts';
import { ALL_KINDS } from '../support/load/all-kinds.ts';
import { deleteAll, differences } from '../support/load/look.ts';
import { searched } from '../support/load/searched.ts';
import { Load, type WriteKind } from '../support/load/write-kind.ts';
import { Writing } from '../support/load/writing.ts';
import { CANNOT_CUT, CutDisk } from '../support/power/cut-disk.ts';
import { Machine, type Place } from '../support/power/machine.ts';
import { withoutSync } from '../support/power/without-sync.ts';
import { Random } from '../support/random.ts';

const { POWER_CUTS = '1', POWER_PLACES, POWER_SEED = String(randomInt(2 ** 31)) } = process.env;
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
).filter(([name], n) => (CUTS > 1 || POWER_PLACES !== undefined ? NAMES.includes(name) : n === 0));
/** At which they are found at the latest; nearly always at the first. */
const CONTROL_CUTS = 2;
/** Before the cut of a control. */
const CONTROL_ANSWERS = 20;

/** Until a disk is replaced by a fresh one. */
const CUTS_PER_DISK = 10;
/** Pictures have another place then, if a database keeps the notes. */
const CUTS_PER_PLACE = 2;
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
const MAX_CUT_MS = 300_000;

t.setTimeout((CUTS + CONTROL_CUTS * CONTROLS.length) * NAMES.length * MAX_CUT_MS);

/**
 * Has clients write, and cuts the power at an answer or a moment after it. Returns what was wrong before.
 * @param isControl one client alone writes, and the power goes at the answer to a post: nothing else syncs what it has not
 */
async function writeUntilCut(
  machine: Machine,
  kinds: readonly WriteKind[],
  random: Random,
  answers: number,
  isControl: boolean,
): Promise<string[]> {
  const { disk } = machine;
  const isAtAnswer = isControl || random.oneIn(2);
  const enough = Promise.withResolvers<void>();
  let awaited = answers;
  const writing = new Writing(kinds, {
    random,
    clients: isControl ? 1 : random.oneOf(CLIENTS),
    isFaulty: () => disk.failure !== undefined,
    onAnswer: async ({ name }) => {
      awaited -= 1;
      if (awaited > 0 || (isControl && name !== 'posts')) return;
      // At once, and with this client waiting: what was answered last has no other request's sync to hide behind.
      if (isAtAnswer) await disk.cut();
      enough.resolve();
    },
    onBroken: enough.resolve,
  });
  await Promise.race([enough.promise, delay(MAX_ROUND_MS, undefined, { ref: false })]);
  if (!isAtAnswer) await delay(random.below(MAX_CUT_AFTER_MS));
  await machine.cut(random.below(MAX_KILL_AFTER_MS));
  await writing.stop();
  return writing.broken;
}

/** Cuts a disk off several times. Returns the differences after the first cut that has any, and how many cuts were made. */
async function cutAgainAndAgain(
  t: Test,
  place: Place,
  { cuts, seed, unsynced }: { cuts: number; seed: number; unsynced?: Record<string, string> },
) {
  const random = new Random(seed);
  const disk = await CutDisk.make(t, DISK, MOUNTS[seed % MOUNTS.length]);
  const hasSearch = !unsynced && seed % SEARCHED_DISKS === 0;
  let machine: Machine | undefined;
  let [cut, answers] = [0, 0];
  let problems: string[] = [];
  try {
    machine = await Machine.start(t, disk, random, { ...place, hasSearch, unsynced });
    const { services } = machine;
    const load = new Load(machine, random);
    const kinds = ALL_KINDS.filter((kind) => hasSearch || kind !== searched).map((kind) => kind(load));
    while (cut < cuts && problems.length === 0) {
      if (cut % CUTS_PER_PLACE === 1) await services.changePlace();
      cut += 1;
      const awaited = unsynced ? CONTROL_ANSWERS : 1 + random.below(MAX_ANSWERS);
      problems = await writeUntilCut(machine, kinds, random, awaited, unsynced !== undefined);
      answers += awaited;
      await machine.restart();
      problems.push(...(await differences(services, load, kinds)));
    }
    if (problems.length === 0) problems.push(...(await deleteAll(load)));
  } catch (error) {
    problems.push(`it does not start, or cannot be looked at: ${error}`);
  }
  await machine?.kill();
  return { cut, problems, answers };
}

for (const name of NAMES) {
  t.test(
    `on ${name}, nothing acknowledged is lost and nothing is there by half`,
    { skip: CANNOT_CUT },
    async (t) => {
      let [cuts, answers, failures] = [0, 0, 0];
      for (let seed = SEED; cuts < CUTS; seed += 1) {
        await t.test(`seed ${seed}`, async (t) => {
          const left = Math.min(CUTS_PER_DISK, CUTS - cuts);
          const result = await cutAgainAndAgain(t, PLACES[name]!, { cuts: left, seed });
          cuts += result.cut;
          answers += result.answers;
          if (result.problems.length > 0) failures += 1;
          t.same(result.problems, [], `cut ${result.cut} of POWER_SEED=${seed}`);
        });
        if (failures >= MAX_FAILURES) break;
      }
      t.comment(`${name}: ${cuts} cuts, ${answers} answers, ${failures} failures, seed ${SEED}`);
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

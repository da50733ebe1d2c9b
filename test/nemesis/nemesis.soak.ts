/**
 * Three containers on one PostgreSQL, clients that write and read through all of them, and faults of the network and of
 * processes: what clients saw keeps the promises of the contract. NEMESIS_FAULTS is how many faults there are with pictures
 * in rows, and NEMESIS_STORE_FAULTS with pictures in an S3 store; NEMESIS_SEED chooses them.
 */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { missing } from '../support/installed.ts';
import { randomNumbers } from '../support/random.ts';
import { Cluster, CONTAINERS, type Resources } from './cluster.ts';
import { both, FAULTS, NETWORK_FAULTS, noFault, STORE_FAULTS } from './faults.ts';
import { type MakeFault, type Round, runRound } from './rounds.ts';

const {
  NEMESIS_FAULTS = '4',
  NEMESIS_STORE_FAULTS = '2',
  NEMESIS_SEED = String(Date.now() % 2 ** 31),
} = process.env;
const READY_MS = 5_000;
/** A connection attempt, or a statement, that a fault caught may take so long before it is given up, ms. */
const CAUGHT_MS = 6_000;
/** On a busy machine all takes longer than alone: so many times as long as to be ready when nothing is broken. */
const BUSY = 5;
/** Connections of one container: four that read, four that write, and a few with one task. */
const MAX_CONNECTIONS = 13;
/** By how much the resources of a container may grow over all faults. */
const MORE_DESCRIPTORS = 10;
const MORE_MIB = 150;
/** The part of faults that come together with one of the network. */
const DOUBLE = 0.25;
/** Rounds in which the control has to be found. */
const CONTROL_ROUNDS = 5;

const counts = { rows: Number(NEMESIS_FAULTS), store: Number(NEMESIS_STORE_FAULTS) };

t.setTimeout(600_000 + (counts.rows + counts.store) * 60_000);
t.comment(`NEMESIS_SEED=${NEMESIS_SEED}`);

/** All in a random order before one comes again. */
function* inTurn<T>(some: readonly T[], random: () => number): Generator<T> {
  for (;;) {
    const left = [...some];
    while (left.length > 0) yield left.splice(Math.floor(random() * left.length), 1)[0]!;
  }
}

/** A fault, and now and then another one with it. */
function oneOrTwo(make: MakeFault, random: () => number): MakeFault {
  if (random() >= DOUBLE) return make;
  const other = NETWORK_FAULTS[Math.floor(random() * NETWORK_FAULTS.length)]!;
  return (around) => both(make(around), other(around));
}

function summary(times: readonly number[]): string {
  const sorted = times.map(Math.round).sort((a, b) => a - b);
  return `median ${sorted[sorted.length >> 1]} ms, most ${sorted.at(-1)} ms`;
}

function judge(t: Test, number: number, round: Round): void {
  const { fault, violations, stalest, calmMs, unreadyMs, operations } = round;
  const ready = `${unreadyMs.map(Math.round).join(' ')} (calm ${Math.round(calmMs)})`;
  const stale = `${Math.round(stalest.healthy)}/${Math.round(stalest.cutOff)}`;
  t.comment(`${number} ${fault}: ${operations} operations, ready after ${ready} ms, stale ${stale} ms`);
  const shown = violations.slice(0, 3).map(({ rule, lines }) => [rule, ...lines]);
  t.same(shown, [], `${violations.length} violations, ${fault}, NEMESIS_SEED=${NEMESIS_SEED}`);
  const most = READY_MS + (round.leavesDeadConnections ? CAUGHT_MS : 0) + BUSY * calmMs;
  t.ok(
    Math.max(...unreadyMs) < most,
    `${fault}: ready within ${Math.round(most)} ms, NEMESIS_SEED=${NEMESIS_SEED}`,
  );
}

async function runFaults(t: Test, count: number, kinds: typeof FAULTS, hasStore: boolean): Promise<void> {
  const random = randomNumbers(Number(NEMESIS_SEED));
  const cluster = await Cluster.start(t, { hasStore });
  judge(t, 0, await runRound(cluster, random, 'calm', noFault));
  const before = await cluster.resources();
  const rounds: Round[] = [];
  const names = inTurn(Object.keys(kinds), random);
  for (let n = 1; n <= count; n += 1) {
    const make = oneOrTwo(kinds[names.next().value!]!, random);
    const round = await runRound(cluster, random, `round-${n}`, make);
    rounds.push(round);
    judge(t, n, round);
  }
  t.comment(`ready: ${summary(rounds.flatMap(({ unreadyMs }) => unreadyMs))}`);
  for (const state of ['healthy', 'cutOff'] as const)
    t.comment(`stalest while ${state}: ${summary(rounds.map(({ stalest }) => stalest[state]))}`);
  await holdsAsBefore(t, cluster, before);
}

/** Nothing of the faults is left in the containers, nor for them in PostgreSQL. */
async function holdsAsBefore(t: Test, cluster: Cluster, before: readonly Resources[]): Promise<void> {
  t.ok(
    await eventually(async () => (await cluster.listeners()) === CONTAINERS),
    'one listener for each container',
  );
  let after: Resources[] = [];
  const isLike = ({ connections, descriptors }: Resources, n: number) =>
    connections <= MAX_CONNECTIONS && descriptors <= before[n]!.descriptors + MORE_DESCRIPTORS;
  await eventually(async () => {
    after = await cluster.resources();
    return after.every(isLike);
  });
  t.comment(`before ${JSON.stringify(before)}`);
  t.comment(`after ${JSON.stringify(after)}`);
  t.ok(after.every(isLike), 'as many connections and descriptors as before');
  for (const [n, { residentMiB }] of after.entries())
    t.ok(residentMiB < before[n]!.residentMiB + MORE_MIB, `container ${n} holds ${residentMiB} MiB`);
}

t.test('pictures in rows', (t) => runFaults(t, counts.rows, FAULTS, false));

t.test('pictures in an S3 store', { skip: missing('swift') }, (t) =>
  runFaults(t, counts.store, { ...STORE_FAULTS, ...FAULTS }, true),
);

t.test('a container that does not hear of changes is found', async (t) => {
  const deaf = new URL('../support/deaf-to-changes.mjs', import.meta.url).href;
  const cluster = await Cluster.start(t, { lastFlags: ['--import', deaf] });
  const random = randomNumbers(Number(NEMESIS_SEED));
  let found: string[] = [];
  for (let n = 0; n < CONTROL_ROUNDS && found.length === 0; n += 1) {
    const { violations } = await runRound(cluster, random, `control-${n}`, noFault);
    const isStale = (rule: string) => /overwritten|nobody deleted/.test(rule);
    found = violations.flatMap(({ rule, lines }) => (isStale(rule) ? [lines.at(-1)!] : []));
  }
  t.ok(found.length > 0);
  for (const line of found) t.match(line, `container ${CONTAINERS - 1},`);
});

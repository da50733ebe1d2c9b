/**
 * Three containers on one PostgreSQL, clients that write and read through all of them, and faults of the network and of
 * processes: what clients saw keeps the promises of the contract. NEMESIS_FAULTS is how many faults there are, with pictures
 * in rows and then a third as many with pictures in an S3 store; NEMESIS_SEED chooses them.
 */
import t, { type Test } from 'tap';
import { randomNumbers } from '../support/fuzz/short-texts.ts';
import { Cluster, type ClusterOptions } from './cluster.ts';
import { FAULTS } from './faults.ts';
import { type Round, runRound } from './rounds.ts';

const COUNT = Number(process.env.NEMESIS_FAULTS ?? 6);
const SEED = Number(process.env.NEMESIS_SEED ?? Date.now() % 2 ** 31);
const READY_MS = 5_000;
/** A connection attempt, or a statement, that a fault caught may take so long before it is given up, ms. */
const CAUGHT_MS = 6_000;

t.setTimeout(300_000 + COUNT * 40_000);
t.comment(`NEMESIS_SEED=${SEED}`);

/** The kinds of fault in a random order, all before one comes again. */
function* inTurn<T>(some: readonly T[], random: () => number): Generator<T> {
  for (;;) {
    const left = [...some];
    while (left.length > 0) yield left.splice(Math.floor(random() * left.length), 1)[0]!;
  }
}

function summary(times: readonly number[]): string {
  const sorted = times.map(Math.round).sort((a, b) => a - b);
  return `median ${sorted[sorted.length >> 1]} ms, most ${sorted.at(-1)} ms`;
}

function judge(t: Test, number: number, round: Round): void {
  const { fault, violations, stalest, unreadyMs, operations } = round;
  const ready = unreadyMs.map(Math.round).join(' ');
  const stale = `${Math.round(stalest.healthy)}/${Math.round(stalest.cutOff)}`;
  t.comment(`${number} ${fault}: ${operations} operations, ready after ${ready} ms, stale ${stale} ms`);
  const shown = violations.slice(0, 3).map(({ rule, lines }) => [rule, ...lines]);
  t.same(shown, [], `${violations.length} violations, ${fault}, NEMESIS_SEED=${SEED}`);
  const most = READY_MS + (round.leavesDeadConnections ? CAUGHT_MS : 0);
  t.ok(Math.max(...unreadyMs) < most, `${fault}: ready within ${most} ms, NEMESIS_SEED=${SEED}`);
}

async function runFaults(
  t: Test,
  count: number,
  kinds: typeof FAULTS,
  options: ClusterOptions,
): Promise<void> {
  const random = randomNumbers(SEED);
  const cluster = await Cluster.start(t, options);
  const rounds: Round[] = [];
  const names = inTurn(Object.keys(kinds), random);
  for (let n = 0; n < count; n += 1) {
    const round = await runRound(cluster, random, `round-${n}`, kinds[names.next().value!]!);
    rounds.push(round);
    judge(t, n, round);
  }
  t.comment(`ready: ${summary(rounds.flatMap(({ unreadyMs }) => unreadyMs))}`);
  for (const state of ['healthy', 'cutOff'] as const)
    t.comment(`stalest while ${state}: ${summary(rounds.map(({ stalest }) => stalest[state]))}`);
}

t.test('pictures in rows', (t) => runFaults(t, COUNT, FAULTS, {}));

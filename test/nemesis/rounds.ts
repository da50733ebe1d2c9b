import { setTimeout as wait } from 'node:timers/promises';
import { randomNumbers } from '../support/random.ts';
import { ask } from '../support/service.ts';
import { check, type Promises, type Staleness, type Violation } from './checker.ts';
import { Clients } from './clients.ts';
import { CAPS, type Cluster, type Container } from './cluster.ts';
import type { Fault, Surroundings } from './faults.ts';
import { History } from './history.ts';

/** What the contract promises; a container that is cut off notices it within a second and answers within another one. */
const PROMISES: Promises = { staleMs: { healthy: 1_000, cutOff: 2_000 }, caps: CAPS };
/** How long a fault lasts, ms: from, and at most as much more. */
const FAULT_MS = [300, 3_200] as const;
/** How long clients run before a fault, and after all are ready again, ms. */
const CALM_MS = 400;
const WRITERS = 6;
const READERS = 8;
const FEEDS = 3;
/** Nobody waits longer for a container to be ready, ms. */
const MAX_UNREADY_MS = 60_000;

/** How long one look at whether a container is ready may take, ms. */
const ATTEMPT_MS = 2_000;

/** What came of one fault. */
export interface Round {
  readonly fault: string;
  readonly violations: readonly Violation[];
  readonly stalest: Staleness;
  /** The same while nothing was broken, which says how busy the machine is. */
  readonly calmMs: number;
  /** From the end of the fault until each container is ready and takes a post, ms. */
  readonly unreadyMs: readonly number[];
  readonly leavesDeadConnections: boolean;
  readonly operations: number;
}

export type MakeFault = (around: Surroundings) => Fault;

/** Runs clients on new feeds through one fault. */
export async function runRound(
  cluster: Cluster,
  random: () => number,
  name: string,
  makeFault: MakeFault,
): Promise<Round> {
  const { containers } = cluster;
  const history = new History();
  const feeds = Array.from({ length: FEEDS }, (_, n) => `${name}-${n}`);
  // Clients take as many numbers as they have time for, and the faults of a seed are the same each time.
  const clients = new Clients({ containers, history, random: randomNumbers(random() * 2 ** 31), feeds });
  await clients.start(WRITERS, READERS);
  await wait(CALM_MS);
  const calmAt = performance.now();
  await Promise.all(containers.map((one) => untilReady(one, `${name}-calm-${one.number}`)));
  const calmMs = performance.now() - calmAt;
  const fault = makeFault({
    cluster,
    random,
    writeThrough: (some) => clients.writeThrough(some),
    readAll: (some) => clients.readAll(some),
  });
  const from = performance.now();
  await fault.begin();
  await wait(FAULT_MS[0] + FAULT_MS[1] * random() ** 2);
  await fault.end();
  const endedAt = performance.now();
  const unreadyMs = await Promise.all(
    containers.map(async (container) => {
      await untilReady(container, `${name}-ready-${container.number}`);
      const until = performance.now();
      if (fault.hits.includes(container)) history.cutOffs.push({ container: container.number, from, until });
      return until - endedAt;
    }),
  );
  await wait(CALM_MS);
  clients.stopWriting();
  // What was answered shows everywhere by then.
  await wait(PROMISES.staleMs.healthy);
  await clients.stop();
  const { violations, stalest } = check(history, PROMISES);
  for (const container of containers.filter(({ process }) => !process.isRunning)) {
    const errors = container.process.lines.filter(({ level }) => level === 'error');
    const rule = `container ${container.number} ended by itself`;
    violations.unshift({
      rule,
      lines: [container.process.errors, ...errors.map((line) => JSON.stringify(line))],
    });
    await cluster.restart(container);
  }
  const { leavesDeadConnections } = fault;
  const operations = history.operations.length;
  return { fault: fault.name, violations, stalest, calmMs, unreadyMs, leavesDeadConnections, operations };
}

/** Waits until a container says that it is ready and takes a post. */
async function untilReady({ url }: Container, name: string): Promise<void> {
  const end = performance.now() + MAX_UNREADY_MS;
  for (let attempt = 0; performance.now() < end; attempt += 1) {
    const signal = AbortSignal.timeout(ATTEMPT_MS);
    const ready = await ask(`${url}/health/ready`, { signal }).catch(() => undefined);
    // Each to a feed of its own, so that none waits for the one before.
    const posting = ask(`${url}/${name}-${attempt}`, {
      method: 'POST',
      headers: { 'content-type': 'text/markdown' },
      body: 'ready',
      signal,
    });
    const posted = await posting.catch(() => undefined);
    if (ready?.status === 200 && posted?.status === 201) return;
    await wait(50);
  }
}

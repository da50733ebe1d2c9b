import t from 'tap';
import type { RateLimit } from '../../src/access/rate-limit.ts';
import type { SharedCounts, SharedUsage, UsageReport } from '../../src/storage/storage.ts';
import { limitOf, waitOf } from '../support/rate-limits.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const LIMIT = 60;

/** Containers that count together, on a clock of their own: only it can show what becomes of a client in an hour. */
class Containers {
  now = 0;
  isReachable = true;
  told = 0;
  containers: number;
  readonly #limits: RateLimit[];
  #times: number[] = [];
  #next = 0;

  constructor(containers: number) {
    this.containers = containers;
    const now = () => this.now;
    const shared: SharedCounts = Object.defineProperty(
      { count: (_client: string, told: UsageReport) => this.#count(told), containers },
      'containers',
      { get: () => this.containers },
    );
    this.#limits = Array.from({ length: 3 }, () => limitOf({ perWindow: LIMIT, now, shared }));
  }

  /** Writes come `everyMs` for `ms`, each to the next container; says how many were refused. */
  async write(everyMs: number, ms: number): Promise<number> {
    let refused = 0;
    for (const end = this.now + ms; this.now < end; this.now += everyMs) {
      this.#next = (this.#next + 1) % this.containers;
      if ((await waitOf(() => this.#limits[this.#next]!.count('client'))) !== undefined) refused += 1;
    }
    return refused;
  }

  /** As the database counts. */
  async #count({ done, wanted }: UsageReport): Promise<SharedUsage> {
    if (!this.isReachable) throw new Error('no answer');
    this.told += 1;
    this.#times = this.#times.filter((time) => this.now - time < MINUTE);
    const isGranted = wanted > 0 && this.#times.length + done + wanted <= LIMIT;
    this.#times.push(...Array<number>(done + (isGranted ? wanted : 0)).fill(this.now));
    const waitMs = (this.#times[0] ?? this.now) + MINUTE - this.now;
    return { total: this.#times.length, isGranted, waitMs };
  }
}

for (const count of [1, 3]) {
  t.test(`${count}: who stays below the limit is never refused`, async (t) => {
    for (const everyMs of [10 * SECOND, 5 * SECOND, 1.5 * SECOND])
      t.equal(await new Containers(count).write(everyMs, 60 * MINUTE), 0, `every ${everyMs} ms`);
  });

  t.test(`${count}: who goes beyond it is held to it, within a tenth`, async (t) => {
    const minutes = 10;
    const refused = await new Containers(count).write(SECOND / 2, minutes * MINUTE);
    const done = minutes * 2 * LIMIT - refused;
    t.ok(done <= 1.1 * minutes * LIMIT, `${done} done`);
    t.ok(done >= 0.9 * minutes * LIMIT, `${done} done`);
  });
}

t.test('a container alone tells nobody, and nothing of that when it has company', async (t) => {
  const containers = new Containers(1);
  await containers.write(1.5 * SECOND, 5 * MINUTE);
  t.equal(containers.told, 0);
  containers.containers = 2;
  t.equal(await containers.write(1.5 * SECOND, 5 * MINUTE), 0);
  t.ok(containers.told > 0);
});

t.test('what was done long ago is not told when the others answer again', async (t) => {
  const containers = new Containers(3);
  containers.isReachable = false;
  t.equal(await containers.write(10 * SECOND, 30 * MINUTE), 0);
  containers.isReachable = true;
  t.equal(await containers.write(10 * SECOND, 30 * MINUTE), 0);
});

t.test('what was done while nobody answered counts when the others answer again', async (t) => {
  const containers = new Containers(2);
  containers.isReachable = false;
  t.equal(await containers.write(SECOND / 2, 25 * SECOND), 0);
  containers.isReachable = true;
  const done = 90 - (await containers.write(SECOND / 2, 20 * SECOND));
  t.ok(done <= 1.1 * LIMIT, `${done} done`);
});

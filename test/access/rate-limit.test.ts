import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { times } from '../support/effort.ts';
import { limitOf, waitNow } from '../support/rate-limits.ts';

/** Clients, more than there is room for. */
const CROWD = times(300_000, 1_000_000);

/** A limit with a clock that stands still until it is moved. */
function create(perMinute: number, startedAt = 0) {
  let time = startedAt;
  const limit = waitsOf(perMinute, () => time);
  return {
    limit,
    pass(ms: number): void {
      time += ms;
    },
    /** What taking several times returns. */
    takes: (times: number, client = 'a') => Array.from({ length: times }, () => limit.take(client)),
  };
}

type Waits = ReturnType<typeof waitsOf>;

/** A limit that says how long to wait. */
function waitsOf(perMinute: number, now?: () => number) {
  const limit = limitOf({ perWindow: perMinute, now });
  return {
    take: (client: string) => waitNow(() => limit.count(client)),
    peek: (client: string) => waitNow(() => limit.check(client)),
    get size() {
      return limit.size;
    },
  };
}

/** As many new clients, each of which takes so often. */
function flood(limit: Waits, clients: number, times = 1): void {
  for (let i = 0; i < clients; i += 1) {
    newcomers += 1;
    for (let n = 0; n < times; n += 1) limit.take(`newcomer-${newcomers}`);
  }
}

let newcomers = 0;

t.test('as much as the limit, then a minute of waiting', async (t) => {
  const { limit, pass, takes } = create(3);
  t.same(takes(5), [undefined, undefined, undefined, 60, 60]);
  pass(58_500);
  t.equal(limit.take('a'), 2);
  pass(1_499);
  t.equal(limit.take('a'), 1);
  pass(1);
  t.equal(limit.take('a'), undefined);
});

t.test('what was done first is free first', async (t) => {
  const { limit, pass } = create(2);
  limit.take('a');
  pass(20_000);
  limit.take('a');
  t.equal(limit.take('a'), 40);
  pass(40_000);
  t.equal(limit.take('a'), undefined);
  t.equal(limit.take('a'), 20);
});

t.test('looking counts nothing', async (t) => {
  const { limit, pass } = create(1);
  t.equal(limit.peek('a'), undefined);
  t.equal(limit.peek('a'), undefined);
  t.equal(limit.size, 0);
  limit.take('a');
  t.equal(limit.peek('a'), 60);
  t.equal(limit.peek('b'), undefined);
  pass(60_000);
  t.equal(limit.peek('a'), undefined);
  t.equal(limit.take('a'), undefined);
});

t.test('each client has its own', async (t) => {
  const { takes } = create(1);
  t.same(takes(2, 'a'), [undefined, 60]);
  t.same(takes(2, 'b'), [undefined, 60]);
});

t.test('0 is no limit, and nothing is kept', async (t) => {
  const { limit, takes } = create(0);
  t.same(takes(1_000), Array(1_000).fill(undefined));
  t.equal(limit.peek('a'), undefined);
  t.equal(limit.size, 0);
});

t.test('the clock of the process is used unless another is given', async (t) => {
  const limit = waitsOf(1);
  t.equal(limit.take('a'), undefined);
  const seconds = limit.take('a');
  t.ok(seconds !== undefined && seconds >= 1 && seconds <= 60);
});

t.test('a crowd of clients takes bounded room, and none once the minute is over', async (t) => {
  const { limit, pass } = create(60);
  flood(limit, CROWD);
  t.ok(limit.size > 50_000 && limit.size <= 100_000, `${limit.size} clients`);
  pass(120_000);
  limit.take('the only one left');
  t.equal(limit.size, 1);
});

t.test('a few clients that never stop leave nothing of earlier ones', async (t) => {
  const { limit, pass } = create(60);
  flood(limit, 1_000);
  for (let i = 0; i < 20; i += 1) {
    pass(9_000);
    limit.take('a');
  }
  t.ok(limit.size <= 2, `${limit.size} clients`);
});

t.test('clients at their limit take bounded room', async (t) => {
  const { limit } = create(2);
  flood(limit, 200_000, 2);
  t.ok(limit.size > 10_000 && limit.size <= 120_000, `${limit.size} clients`);
});

t.test(
  'a crowd of new clients does not free one that is over its limit, nor one half way to it',
  async (t) => {
    const { limit, takes } = create(60);
    takes(60, 'over');
    takes(30, 'half');
    flood(limit, CROWD);
    t.equal(limit.take('over'), 60);
    t.same(takes(31, 'half').slice(29), [undefined, 60]);
  },
);

t.test('of too many, those counted last the longest ago give way', async (t) => {
  const { limit, takes } = create(10);
  takes(4, 'old');
  takes(3, 'active');
  flood(limit, 60_000);
  limit.take('active');
  flood(limit, 49_000);
  t.same(takes(10, 'old'), Array(10).fill(undefined));
  t.same(takes(7, 'active'), [...Array(6).fill(undefined), 60]);
});

/** The rule in its simplest words: all that was counted, and a second is forgotten as one. */
class Model {
  readonly #perMinute: number;
  readonly #counted = new Map<string, number[]>();

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  recent(client: string, now: number): number[] {
    const all = this.#counted.get(client) ?? [];
    const end = (time: number) =>
      Math.max(...all.filter((other) => Math.floor(other / 1000) === Math.floor(time / 1000)));
    return all.filter((time) => now - end(time) < 60_000);
  }

  peek(client: string, now: number): number | undefined {
    const recent = this.recent(client, now);
    if (recent.length < this.#perMinute) return undefined;
    const first = Math.floor(recent[0]! / 1000);
    const end = Math.max(...recent.filter((time) => Math.floor(time / 1000) === first));
    return Math.ceil((60_000 - (now - end)) / 1000);
  }

  take(client: string, now: number): number | undefined {
    const seconds = this.peek(client, now);
    if (seconds === undefined) this.#counted.set(client, [...(this.#counted.get(client) ?? []), now]);
    return seconds;
  }

  /** The most that was counted within any 60 s. */
  most(client: string): number {
    const all = this.#counted.get(client) ?? [];
    return Math.max(
      0,
      ...all.map((start) => all.filter((time) => time >= start && time < start + 60_000).length),
    );
  }
}

const step = fc.record({
  client: fc.constantFrom('a', 'b'),
  wait: fc.oneof(fc.nat(50), fc.nat(2_000), fc.constantFrom(0, 1_000, 60_000), fc.nat(70_000)),
  peek: fc.boolean(),
});

t.test('random clients at random times: as the model says, and never beyond the limit', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.nat(5_000),
      fc.array(step, { maxLength: 80, size: 'max' }),
      (perMinute, startedAt, steps) => {
        const { limit, pass } = create(perMinute, startedAt);
        const model = new Model(perMinute);
        let now = startedAt;
        for (const { client, wait, peek } of steps) {
          pass(wait);
          now += wait;
          if (peek) assert.equal(limit.peek(client), model.peek(client, now));
          else assert.equal(limit.take(client), model.take(client, now));
        }
        for (const client of ['a', 'b']) assert.ok(model.most(client) <= perMinute);
      },
    ),
    { numRuns: 500 },
  );
});

t.test('who waits as long as was said is let through', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.nat(9_000)), (perMinute, waits) => {
      const { limit, pass } = create(perMinute);
      for (const wait of waits) {
        pass(wait);
        const seconds = limit.take('a');
        if (seconds === undefined) continue;
        assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60);
        pass(seconds * 1_000);
        assert.equal(limit.take('a'), undefined);
      }
    }),
  );
});

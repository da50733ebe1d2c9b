/**
 * One failover after the other under load, primaries that die and primaries that hang by turns: nothing acknowledged is lost.
 * Says how long posts and reads were not answered. FAILOVERS is their number.
 */
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { containerSettings } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { readIdIn } from '../support/feed-client.ts';
import { missing, program } from '../support/installed.ts';
import { Posters, textsOf } from '../support/posters.ts';
import type { Programs } from '../support/postgres.ts';
import { PostgresPair } from '../support/postgres-pair.ts';
import { ask, post } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

const FAILOVERS = Number(process.env.FAILOVERS ?? 3);
const FEED = 'dunlin';
const MAX_UNNOTICED_MS = 3_000;

t.setTimeout(600_000 + FAILOVERS * 30_000);

/** Asks for a page that nobody changes; `longest` is the longest time between two answers with it, ms. */
class Reader {
  longest = 0;
  #isOver = false;
  readonly #reading: Promise<void>;

  constructor(url: string) {
    this.#reading = this.#read(url);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#reading;
  }

  async #read(url: string): Promise<void> {
    let last = performance.now();
    while (!this.#isOver) {
      const { status } = await ask(url);
      if (status === 200) {
        this.longest = Math.max(this.longest, performance.now() - last);
        last = performance.now();
      }
      await wait(20);
    }
  }
}

/** Median and maximum, in ms. */
function summary(times: readonly number[]): string {
  const sorted = times.map(Math.round).sort((a, b) => a - b);
  return `median ${sorted[sorted.length >> 1]} ms, most ${sorted.at(-1)} ms`;
}

/** @param installed another version than that of npm */
async function failOver(t: Test, count: number, installed?: Programs): Promise<void> {
  const pair = await PostgresPair.start(t, installed);
  const { url } = await ServiceProcess.start(t, { env: containerSettings(pair.url) });
  const readId = readIdIn((await post(`${url}/quiet`, 'first')).json.read_url);
  const posters = new Posters(`${url}/${FEED}`);
  const times: Record<'killed' | 'frozen', number[]> = { killed: [], frozen: [] };
  const gaps: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const kind = n % 2 === 0 ? 'killed' : 'frozen';
    t.ok(await posters.more(100));
    const reader = new Reader(`${url}/r/${readId}/feed.xml`);
    const old = pair.primary;
    const thaw = kind === 'frozen' ? await old.freeze(t) : () => {};
    if (kind === 'killed') await old.stop('SIGKILL');
    // Somebody has to notice it first.
    await wait(Math.random() * MAX_UNNOTICED_MS);
    const asked = performance.now();
    const promoted = pair.promote();
    t.ok(await eventually(() => posters.lastSent > asked));
    const time = performance.now() - asked;
    await promoted;
    t.ok(await posters.more(100));
    thaw();
    await reader.stop();
    await old.stop('SIGKILL');
    t.comment(
      `${n + 1} ${kind}: first post ${Math.round(time)} ms, longest without a page ${Math.round(reader.longest)} ms`,
    );
    times[kind].push(time);
    gaps.push(reader.longest);
    await pair.repair();
  }
  await posters.stop();
  const stored = await textsOf(url, FEED);
  const texts = new Set(stored);
  t.equal(texts.size, stored.length);
  const lost = posters.acknowledged.filter((text) => !texts.has(text));
  t.same(lost, [], `of ${posters.acknowledged.length}`);
  t.same([...posters.refusals], ['503 store_unavailable']);
  for (const [kind, some] of Object.entries(times))
    if (some.length > 0) t.comment(`from the promotion to the first post, primary ${kind}: ${summary(some)}`);
  t.comment(`longest without a page: ${summary(gaps)}`);
}

t.test(`${FAILOVERS} failovers`, (t) => failOver(t, FAILOVERS));

t.test('failovers of an older version', { skip: missing('postgres') }, (t) =>
  failOver(t, 2, { initdb: program('initdb'), postgres: program('postgres') }),
);

/**
 * Every kind of helper thread dies again and again while the service is written to: nothing acknowledged is lost, requests
 * are answered or refused as 503, and the service goes on. `THREAD_KILLS=100` has each die so often, `KILL_STORAGES=sqlite`
 * names storages (else each kind dies on one of those that have it), `KILL_THREADS="compose compress"` kinds of threads, and
 * `KILL_SEED` decides where and how they die.
 */
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { edits } from '../support/load/edits.ts';
import { keyed } from '../support/load/keyed.ts';
import { brokenPromises } from '../support/load/look.ts';
import { posts } from '../support/load/posts.ts';
import { searched } from '../support/load/searched.ts';
import { type Backend, Services } from '../support/load/services.ts';
import { Load, Unavailable } from '../support/load/write-kind.ts';
import { Writing } from '../support/load/writing.ts';
import { Random } from '../support/random.ts';
import { type Reply, tempDir } from '../support/service.ts';
import { HELPERS, type Helper } from '../support/thread-deaths.ts';

const {
  THREAD_KILLS = '1',
  KILL_STORAGES,
  KILL_THREADS = '',
  KILL_SEED = `${randomInt(2 ** 31)}`,
} = process.env;
const DYING = new URL('../support/dying-threads.mjs', import.meta.url).href;
const SEED = Number(KILL_SEED);
const STORAGES = (KILL_STORAGES ?? 'fs sqlite postgres').split(' ') as Backend[];
const KINDS = [posts, keyed, edits, searched];
/** How many clients write, and how long each waits between two writes, ms. Threads would have little time beside more writes. */
const [CLIENTS, PAUSE_MS] = [3, 50];
/** Deaths until all that was promised is looked for. */
const CHECK_EVERY = 5;
/** Within this time after a death a post and a read must be answered, ms. */
const BACK_MS = 10_000;

t.setTimeout(Number(THREAD_KILLS) * 600_000 + 600_000);
t.comment(`KILL_SEED=${KILL_SEED}`);

/** Has a thread die and looks at what comes of it; returns what was wrong. */
async function dieOnce(helper: Helper, load: Load, dir: string): Promise<string[]> {
  const broken: string[] = [];
  const order = join(dir, helper.work);
  const [moment, death] = [load.random.oneOf(helper.moments), load.random.oneOf(helper.deaths)];
  const use = async () => {
    const { status, text, headers }: Reply = await helper.use(load).catch((error) => {
      if (error instanceof Unavailable)
        return { status: 503, text: '', headers: new Headers({ 'retry-after': '1' }) } as Reply;
      throw error;
    });
    const isRight = status < 300 || (status === 503 && headers.has('retry-after'));
    if (!isRight) broken.push(`${helper.work} (${moment}, ${death}): ${status} ${text.slice(0, 200)}`);
  };
  await writeFile(order, `${moment} ${death}`);
  const isDead = await eventually(async () => {
    await use();
    return !existsSync(order);
  });
  if (!isDead) return [...broken, `no thread did ${helper.work}`];
  const end = performance.now() + BACK_MS;
  for (const ask of [() => load.feed('after').post('x'), () => load.feed('after').list()])
    while ((await ask()).status >= 300)
      if (performance.now() > end)
        return [...broken, `no answer after the death of ${helper.work} (${moment}, ${death})`];
  await use();
  return broken;
}

for (const backend of STORAGES)
  t.test(`on ${backend}`, async (t) => {
    const random = new Random(SEED);
    const dir = await tempDir(t);
    await chmod(dir, 0o777);
    const services = await Services.start(t, backend, random, {
      count: 1,
      env: { DYING_DIR: dir, SERVICE_WORKERS: '2' },
      flags: [`--import=${DYING}`],
    });
    const helpers = HELPERS.filter(({ work, backends }, n) => {
      const here = KILL_STORAGES === undefined ? [backends[(SEED + n) % backends.length]] : backends;
      return here.includes(backend) && (KILL_THREADS === '' || KILL_THREADS.split(' ').includes(work));
    });
    for (const [n, helper] of helpers.entries()) {
      if ((await services.ends()).length > 0) break;
      const load = new Load(services, random, `t${n}-`);
      const kinds = KINDS.map((kind) => kind(load));
      const broken: string[] = [];
      const begunAt = performance.now();
      let kills = 0;
      for (; kills < Number(THREAD_KILLS) && broken.length === 0; kills += 1) {
        const writing = new Writing(kinds, { random, clients: CLIENTS, onAnswer: () => delay(PAUSE_MS) });
        broken.push(...(await dieOnce(helper, load, dir).catch((error: Error) => [error.stack ?? ''])));
        await writing.stop();
        broken.push(...writing.broken);
        const isDue = kills % CHECK_EVERY === CHECK_EVERY - 1 || kills === Number(THREAD_KILLS) - 1;
        if (isDue) broken.push(...(await brokenPromises(kinds)));
      }
      t.same(
        broken,
        [],
        `${helper.work} died ${kills} times, in ${Math.round((performance.now() - begunAt) / 1000)} s`,
      );
    }
    t.same(await services.ends(), [], 'the service still runs');
    await services.stop();
  });

/**
 * kill -9 under load of all kinds of writes, on every storage, through the front door: what was acknowledged is there, and
 * nothing is there by half. `KILLS=1000` kills so often on each storage, `KILL_STORAGES=sqlite` names storages, and
 * `KILL_SEED` decides what is written and how long each service lives.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { ALL_KINDS } from '../support/load/all-kinds.ts';
import { deleteAll, differences } from '../support/load/look.ts';
import { type Backend, Services } from '../support/load/services.ts';
import { answered, Load, listed, type WriteKind } from '../support/load/write-kind.ts';
import { Writing } from '../support/load/writing.ts';
import { Random } from '../support/random.ts';
import type { Reply } from '../support/service.ts';

const {
  KILLS = '2',
  KILL_STORAGES = 'fs sqlite postgres',
  KILL_SEED = `${randomInt(2 ** 31)}`,
} = process.env;
/** Kills until everything is deleted, so that a check does not take longer each time. */
const EPOCH = 8;
/** Kills until pictures have another place. */
const PLACE_KILLS = 2;
/** How many answers a service may give, and how long it may live, ms, after those that a round waits for. */
const [MORE_ANSWERS, MORE_MS] = [30, 60];
/** How long the others go on after one of several was killed, ms. */
const ALONE_MS = 100;
const AT_ONCE = 64;

t.setTimeout(Number(KILLS) * 120_000 + 300_000);
t.comment(`KILL_SEED=${KILL_SEED}`);

/**
 * Writes of all kinds until a moment after a kill, which comes when some of `awaited` were answered. Returns how many of
 * each kind were answered.
 */
async function killWhileWriting(
  services: Services,
  kinds: readonly WriteKind[],
  awaited: readonly WriteKind[],
  random: Random,
) {
  const counts = new Map(kinds.map(({ name }) => [name, 0]));
  const due = Promise.withResolvers<void>();
  let more = random.below(MORE_ANSWERS);
  let isFaulty = false;
  const onAnswer = ({ name }: WriteKind) => {
    counts.set(name, counts.get(name)! + 1);
    if (awaited.some((kind) => counts.get(kind.name) === 0)) return;
    more -= 1;
    if (more < 0) due.resolve();
  };
  const writing = new Writing(kinds, { random, onAnswer, onBroken: due.resolve, isFaulty: () => isFaulty });
  await due.promise;
  await delay(random.below(MORE_MS));
  isFaulty = true;
  await services.kill();
  await delay(services.urls.length > 0 ? random.below(ALONE_MS) : 0);
  await writing.stop();
  return { counts, broken: writing.broken };
}

/** Each key gets one note, however many clients post it at once, each until it is answered. */
async function postKeysAtOnce(t: Test, { urls }: Services): Promise<void> {
  const insist = async (url: string, key: string): Promise<Reply> => {
    for (;;) {
      const posting = new FeedClient(url, 'at-once').post(key, { 'idempotency-key': key });
      const reply = await posting.catch(() => undefined);
      if (reply && reply.status < 500) return answered(reply, 201);
    }
  };
  for (const key of ['makes the feed', 'second', 'third']) {
    const all = Array.from({ length: AT_ONCE }, (_, n) => insist(urls[n % urls.length]!, key));
    const replies = await Promise.all(all);
    t.equal(new Set(replies.map(({ json }) => json.id)).size, 1, 'one note');
    const firsts = replies.filter(({ headers }) => headers.get('idempotent-replayed') === null);
    t.ok(firsts.length <= 1, 'at most one of them stored it');
  }
  t.equal((await listed((query) => new FeedClient(urls[0]!, 'at-once').list(query))).length, 3);
}

for (const backend of KILL_STORAGES.split(' ') as Backend[])
  t.test(`on ${backend}`, async (t) => {
    const random = new Random(Number(KILL_SEED));
    const services = await Services.start(t, backend, random);
    await t.test('many clients post one key at once', { timeout: 600_000 }, (t) =>
      postKeysAtOnce(t, services),
    );
    const begunAt = performance.now();
    const answers = new Map<string, number>();
    let [load, kinds] = [new Load(services, random), [] as readonly WriteKind[]];
    let [kills, problems] = [0, 0];
    for (; kills < Number(KILLS) && problems < 20; kills += 1) {
      if (kills % EPOCH === 0) {
        load = new Load(services, random, `e${kills / EPOCH}-`);
        kinds = ALL_KINDS.map((kind) => kind(load));
      }
      const isMoved = kills % PLACE_KILLS === 1 && backend !== 'fs';
      if (isMoved) await services.changePlace();
      const [moves, ...others] = kinds;
      const awaited = [0, 1].map((n) => others[(2 * kills + n) % others.length]!);
      if (isMoved) awaited.push(moves!);
      const { counts, broken } = await killWhileWriting(services, kinds, awaited, random);
      for (const [name, count] of counts) answers.set(name, (answers.get(name) ?? 0) + count);
      await services.restart();
      broken.push(...(await differences(services, load, kinds)));
      if ((kills + 1) % EPOCH === 0 || kills + 1 === Number(KILLS)) broken.push(...(await deleteAll(load)));
      problems += broken.length;
      if (broken.length > 0) t.same(broken, [], `all is as promised after kill ${kills + 1}`);
      if (kills % 5 === 4)
        t.comment(`${kills + 1} kills in ${Math.round((performance.now() - begunAt) / 1000)} s`);
    }
    t.comment(`${kills} kills in ${Math.round((performance.now() - begunAt) / 1000)} s`);
    t.comment([...answers].map(([name, count]) => `${name}: ${count}`).join(', '));
    t.equal(problems, 0, 'nothing was lost, nothing was there by half');
    // Each kill waits for two kinds, and for moves if there are any.
    const isRound = 2 * kills >= kinds.length;
    const unanswered = [...answers].filter(([name, count]) => count === 0 && name !== kinds[0]!.name);
    t.same(isRound ? unanswered : [], [], 'writes of every kind were answered');
    await services.stop();
  });

/**
 * kill -9 under load of all kinds of writes, on every storage, through the front door: what was acknowledged is there, and
 * nothing is there by half. `KILLS=1000` kills so often on each storage, `KILL_STORAGES=sqlite` names storages, and
 * `KILL_SEED` decides what is written and how long each service lives.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { leftovers } from '../support/leftovers.ts';
import { operate } from '../support/operator.ts';
import { Random } from '../support/random.ts';
import type { Reply } from '../support/service.ts';
import { deletions } from './kills/deletions.ts';
import { edits } from './kills/edits.ts';
import { expiring } from './kills/expiring.ts';
import { imports } from './kills/imports.ts';
import { keyed } from './kills/keyed.ts';
import { pictureMoves } from './kills/picture-moves.ts';
import { posts } from './kills/posts.ts';
import { searched } from './kills/searched.ts';
import { type Backend, Services } from './kills/services.ts';
import { settings } from './kills/settings.ts';
import { answered, Broken, checkAll, type Load, listed, same, type WriteKind } from './kills/write-kind.ts';

const {
  KILLS = '4',
  KILL_STORAGES = 'fs sqlite postgres',
  KILL_SEED = `${randomInt(2 ** 31)}`,
} = process.env;
/** Kills until everything is deleted, so that a check does not take longer each time. */
const EPOCH = 12;
/** Kills until pictures have another place. */
const PLACE_KILLS = 3;
/** How many answers a service may give, and how long it may live, ms, after those that a round waits for. */
const [MORE_ANSWERS, MORE_MS] = [30, 60];
/** How long the others go on after one of several was killed, ms. */
const ALONE_MS = 100;
const AT_ONCE = 64;

/** The first one puts the pictures in place, before others look at them. */
const KINDS = [pictureMoves, posts, keyed, edits, settings, deletions, imports, expiring, searched];

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
  const broken: string[] = [];
  const due = Promise.withResolvers<void>();
  let more = random.below(MORE_ANSWERS);
  let isOver = false;
  const count = ({ name }: WriteKind) => {
    counts.set(name, counts.get(name)! + 1);
    if (awaited.some((kind) => counts.get(kind.name) === 0)) return;
    more -= 1;
    if (more < 0) due.resolve();
  };
  const writeOn = async (kind: WriteKind, client: number) => {
    while (!isOver)
      try {
        await kind.write(client);
        count(kind);
      } catch (error) {
        if (error instanceof Broken) {
          broken.push(`${kind.name}: ${error.message}`);
          due.resolve();
        }
        // It may have nothing to do until the next kill.
        await delay(5);
      }
  };
  const writing = kinds.flatMap((kind) => Array.from({ length: kind.clients }, (_, n) => writeOn(kind, n)));
  await due.promise;
  await delay(random.below(MORE_MS));
  await services.kill();
  await delay(services.urls.length > 0 ? random.below(ALONE_MS) : 0);
  isOver = true;
  await Promise.all(writing);
  return { counts, broken };
}

/** What is not as it was promised. */
async function check(services: Services, kinds: readonly WriteKind[]): Promise<string[]> {
  const broken = await checkAll(kinds);
  // Whole folders are removed beside the work, because they may be large.
  await eventually(async () => (await leftovers(services.dir)).length === 0);
  return [...broken, ...(await leftovers(services.dir))];
}

/** Compares what the service has counted with what it lists, then deletes all feeds. */
async function deleteAll(services: Services, expires: string): Promise<void> {
  const { feeds } = answered(await operate(services.url, 'GET', '/feeds?limit=1000'), 200).json;
  for (const { name, notes, pictures, bytes, protected: isProtected } of feeds) {
    if (!isProtected && name !== expires) {
      const found = await listed(new FeedClient(services.url, name));
      const size = found.reduce((sum, note) => sum + note.size, 0);
      const ofPictures = found.filter(({ content }) => content === undefined).length;
      same([notes, pictures, bytes], [found.length, ofPictures, size], 'notes, pictures and bytes of a feed');
    }
    answered(await operate(services.url, 'DELETE', `/feeds/${name}`), 204);
  }
  const { json } = answered(await operate(services.url, 'GET', '/stats'), 200);
  same([json.feeds, json.notes, json.pictures, json.bytes], [0, 0, 0, 0], 'what is left');
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
  t.equal((await listed(new FeedClient(urls[0]!, 'at-once'))).length, 3);
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
    let kinds: readonly WriteKind[] = [];
    let [kills, problems] = [0, 0];
    for (; kills < Number(KILLS) && problems < 20; kills += 1) {
      const prefix = `e${Math.floor(kills / EPOCH)}-`;
      if (kills % EPOCH === 0) {
        const load: Load = {
          prefix,
          random,
          get url() {
            return services.url;
          },
          get movedFrom() {
            return services.movedFrom;
          },
        };
        kinds = KINDS.filter((kind) => backend !== 'fs' || kind !== pictureMoves).map((kind) => kind(load));
      } else if (kills % PLACE_KILLS === 0) await services.changePlace();
      const awaited = [0, 1].map((n) => kinds[(2 * kills + n) % kinds.length]!);
      const { counts, broken } = await killWhileWriting(services, kinds, awaited, random);
      for (const [name, count] of counts) answers.set(name, (answers.get(name) ?? 0) + count);
      await services.restart();
      broken.push(...(await check(services, kinds)));
      if ((kills + 1) % EPOCH === 0)
        await deleteAll(services, `${prefix}expiring`).catch((error) => broken.push(error.message));
      problems += broken.length;
      if (broken.length > 0) t.same(broken, [], `all is as promised after kill ${kills + 1}`);
      if (kills % 5 === 4)
        t.comment(`${kills + 1} kills in ${Math.round((performance.now() - begunAt) / 1000)} s`);
    }
    t.comment(`${kills} kills in ${Math.round((performance.now() - begunAt) / 1000)} s`);
    t.comment([...answers].map(([name, count]) => `${name}: ${count}`).join(', '));
    t.equal(problems, 0, 'nothing was lost, nothing was there by half');
    // Each kill waits for two kinds.
    const isRound = 2 * kills >= kinds.length;
    t.same(
      [...answers].filter(([, count]) => isRound && count === 0),
      [],
      'writes of every kind were answered',
    );
    await services.stop();
  });

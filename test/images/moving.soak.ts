/**
 * Pictures are moved between stores while others post, edit, delete and read, and the service is killed. `MOVES=all` tries
 * every direction with 1,000 pictures each, which takes an hour or more; `MOVES="s3 db"` tries one.
 */

import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as nextLook } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t from 'tap';
import { inParallel } from '../../src/images/image-store.ts';
import type { ImagePlace } from '../../src/images/open-images.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { countOf, imageSettings, ON_SQLITE, OPERATOR_TOKEN, storeAt } from '../support/image-settings.ts';
import { missing } from '../support/installed.ts';
import { picture } from '../support/pictures.ts';
import { ask } from '../support/service.ts';
import { dataDir, ServiceProcess } from '../support/service-process.ts';
import { SwiftServer } from '../support/swift.ts';

const { MOVES = '' } = process.env;
const IS_LONG = MOVES !== '';
t.setTimeout(IS_LONG ? 3 * 3_600_000 : 600_000);

const PNG = { 'content-type': 'image/png' };
const PICTURES = IS_LONG ? 1_000 : 40;
/** How many pictures two clients have moved in one request. */
const LIMITS = IS_LONG ? [70, 30] : [7, 3];
/** How often the service is killed, each time after so many pictures have been looked at. */
const KILLS = IS_LONG ? 3 : 1;
const LOOKS_BEFORE_KILL = PICTURES / 2;
/** Posts at once, before the moves. */
const CLIENTS = 8;
/** Objects that a kill may leave without any trace in the database: of the one post that runs. */
const LOST_BY_KILL = 1;
/** What is tried each time. */
const QUICK = new Set(['db folder', 'folder s3', 's3 db']);
const noSwift = missing('swift');
const swift = noSwift ? undefined : await SwiftServer.start(t);

type Place = ImagePlace | undefined;
/** Places for the pictures of a service whose data is in that folder. */
const PLACES: Record<string, (dataDir: string, name: string) => Promise<Place>> = {
  db: async () => undefined,
  folder: async (dataDir, name) => ({ kind: 'fs', dir: join(dataDir, name) }),
  s3: async () => ({ kind: 's3', ...(await swift!.bucket()) }),
};

/** The body of a request to move from that place. */
function sourceOf(place: Place): Record<string, string> {
  if (place === undefined) return { from: 'db' };
  if (place.kind === 'fs') return { from: 'fs', dir: place.dir };
  const { endpoint, bucket, accessKey, secretKey } = place;
  return { from: 's3', endpoint, bucket, access_key: accessKey, secret_key: secretKey };
}

/** What each picture is to be, by its address; undefined once it is deleted. */
type Pictures = Map<string, Buffer>;

interface Answer {
  readonly moved: { readonly count: number };
  readonly missing: number;
  readonly failed: number;
  readonly left: number;
  readonly next: string | null;
}

/**
 * Moves until all is done; where the service is killed meanwhile, from the last cursor on when it is back.
 * @param onAnswer called at each answer but the last
 */
async function moveAll(
  url: () => string,
  from: Record<string, string>,
  limit: number,
  onAnswer = () => {},
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let after = '', tries = 0; tries < 10_000; tries += 1) {
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
    const body = JSON.stringify({ ...from, limit, after });
    const reply = await ask(`${url()}/api/operator/images/move`, { method: 'POST', headers, body }).catch(
      () => undefined,
    );
    if (reply?.status !== 200) {
      if (reply) throw new Error(reply.text);
      await nextLook(10);
      continue;
    }
    answers.push(reply.json);
    if (reply.json.next === null) return answers;
    after = reply.json.next;
    onAnswer();
  }
  throw new Error('It never ends');
}

for (const from of ['db', 'folder', 's3'])
  for (const to of ['db', 'folder', 's3']) {
    if (from === 'db' && to === 'db') continue;
    if (MOVES !== 'all' && !(IS_LONG ? MOVES === `${from} ${to}` : QUICK.has(`${from} ${to}`))) continue;
    const skip = [from, to].includes('s3') && noSwift;
    t.test(`from ${from} to ${to}`, { skip }, async (t) => {
      const dir = await dataDir(t);
      const [source, target] = [await PLACES[from]!(dir, 'one'), await PLACES[to]!(dir, 'other')];
      const env = (place: Place) => ({ ...ON_SQLITE, ...imageSettings(place) });
      let service = await ServiceProcess.start(t, { dir, env: env(source) });
      const pictures: Pictures = new Map();
      const post = async (seed: number) => {
        const bytes = picture('png', 2_000 + 997 * (seed % 50), seed);
        const posted = await new FeedClient(service.url, `feed-${seed % 5}`).post(bytes, PNG);
        if (posted.status !== 201) throw new Error(posted.text);
        const path = new URL(posted.json.file_url).pathname;
        pictures.set(path, bytes);
        return { id: posted.json.id, path, feed: `feed-${seed % 5}` };
      };
      const all: Awaited<ReturnType<typeof post>>[] = [];
      const seeds = Array.from({ length: PICTURES }, (_, n) => n);
      await inParallel(seeds, CLIENTS, async (n) => {
        all.push(await post(n));
      });
      await service.kill('SIGTERM');
      service = await ServiceProcess.start(t, { dir, env: env(target) });

      // What is in another store is broken until it is moved; from then on it must never be again.
      const wasWhole = new Set<string>(from === 'db' ? pictures.keys() : []);
      const broken: string[] = [];
      let isOver = false;
      t.teardown(() => {
        isOver = true;
      });
      let looks = 0;
      const look = async (path: string) => {
        const [wanted, { url }] = [pictures.get(path), service];
        const got = await ask(url + path).catch(() => undefined);
        if (got === undefined || url !== service.url || wanted !== pictures.get(path) || wanted === undefined)
          return;
        looks += 1;
        if (got.status === 200 && wanted.equals(got.bytes)) wasWhole.add(path);
        else if (wasWhole.has(path)) broken.push(`${path} ${got.status}`);
      };
      const reading = (async () => {
        while (!isOver) {
          for (const path of [...pictures.keys()]) if (!isOver) await look(path);
          // There may be none for a while.
          await nextLook(1);
        }
      })();
      let seed = 10_000;
      const deleted = new Set<string>();
      const changing = (async () => {
        while (!isOver) {
          seed += 1;
          try {
            const fresh = await post(seed);
            wasWhole.add(fresh.path);
            const old = all[seed % all.length]!;
            if (deleted.has(old.path)) continue;
            const note = `${service.url}/api/v1/feeds/${old.feed}/notes/${old.id}`;
            if (seed % 2 === 0) {
              pictures.delete(old.path);
              deleted.add(old.path);
              await ask(note, { method: 'DELETE' });
            } else {
              const bytes = picture('png', 3_333, seed);
              pictures.delete(old.path);
              const { status } = await ask(note, { method: 'PUT', headers: PNG, body: bytes });
              if (status === 200) {
                pictures.set(old.path, bytes);
                wasWhole.add(old.path);
              } else deleted.add(old.path);
            }
          } catch {
            // Its service has been killed: nobody knows what became of it.
            const unsure = all[seed % all.length]!;
            pictures.delete(unsure.path);
            deleted.add(unsure.path);
            await nextLook(10);
          }
        }
      })();

      let isMoved = false;
      let kills = 0;
      let answersBeforeKill = 1 + randomInt(3);
      const isDue = Promise.withResolvers<void>();
      const onAnswer = () => {
        answersBeforeKill -= 1;
        if (answersBeforeKill === 0) isDue.resolve();
      };
      const killing = (async () => {
        for (; kills < KILLS; kills += 1) {
          // The first comes at one of the first answers, because a store may take all pictures before so many looks.
          const due = looks + (kills === 0 ? 0 : LOOKS_BEFORE_KILL);
          await isDue.promise;
          while (looks < due && !isMoved) await nextLook(5);
          if (isMoved) return;
          await service.kill('SIGKILL');
          service = await ServiceProcess.start(t, { dir, env: env(target) });
        }
      })();
      const url = () => service.url;
      await Promise.all(LIMITS.map((limit) => moveAll(url, sourceOf(source), limit, onAnswer)));
      isMoved = true;
      await killing;
      t.comment(`${kills} kills, ${looks} looks, ${seed - 10_000} changes`);
      t.ok(kills > 0, 'it was killed while it moved');
      isOver = true;
      await Promise.all([reading, changing]);
      const last = await moveAll(url, sourceOf(source), 1_000);
      t.same(broken, []);
      for (const answer of last) t.match(answer, { missing: 0, failed: 0 });
      t.match(last.at(-1), { left: 0, next: null });
      for (const { moved } of await moveAll(url, sourceOf(source), 1_000))
        t.equal(moved.count, 0, 'a second time nothing is left to move');

      for (const path of pictures.keys()) {
        const got = await ask(service.url + path);
        t.ok(got.status === 200 && pictures.get(path)!.equals(got.bytes), `${got.status}`);
      }
      if (source) t.equal(await countOf(await storeAt(t, source)), 0, 'nothing is left behind');
      const db = new Database(join(dir, 'notefeed.db'), { readonly: true });
      t.teardown(() => db.close());
      const keys = (sql: string) => new Set(db.prepare<[], string>(sql).pluck().all());
      const referenced = 'SELECT image_key FROM notes WHERE image_key IS NOT NULL';
      if (target === undefined) return void t.equal(keys(referenced).size, 0);
      const store = await storeAt(t, target);
      /** Objects that neither a note nor the remover knows. */
      const untracked = async () => {
        const known = keys(`${referenced} UNION ALL SELECT key FROM freed_keys`);
        const found: string[] = [];
        for await (const page of store.list())
          found.push(...page.map(({ key }) => key).filter((key) => !known.has(key)));
        return found;
      };
      t.ok(
        await eventually(async () => (await untracked()).length <= kills * LOST_BY_KILL),
        'but what was just being posted when the service was killed',
      );
    });
  }

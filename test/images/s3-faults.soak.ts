/** What clients see of an S3 store with faults: the table in docs/backends.md, row by row. */
import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { newImageKey } from '../../src/feeds/image-keys.ts';
import { S3Store, type S3Tuning } from '../../src/images/s3-store.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyS3 } from '../support/faulty-s3.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { imageSettings, ON_SQLITE } from '../support/image-settings.ts';
import { missing } from '../support/installed.ts';
import { picture } from '../support/pictures.ts';
import { ask, start, type TestService } from '../support/service.ts';
import { SwiftServer } from '../support/swift.ts';
import { hashed, read } from './contract.ts';

t.setTimeout(150_000);

const PNG = { 'content-type': 'image/png' };
const QUICK: S3Tuning = { silenceMs: 2_000, probeMs: 100 };
const skip = missing('swift');
const swift = skip ? undefined : await SwiftServer.start(t);

async function faultyStore(t: Test, tuning: S3Tuning = QUICK) {
  const place = await swift!.bucket();
  const server = await FaultyS3.start(t, place.endpoint);
  const store = new S3Store({ ...place, endpoint: server.endpoint }, tuning);
  t.teardown(() => store.close());
  const [key, bytes] = [newImageKey(), randomBytes(200_000)];
  await store.put(key, hashed(bytes));
  return { server, store, key, bytes };
}

const UNAVAILABLE = { code: 'store_unavailable', headers: { 'Retry-After': '5' } };

for (const fault of ['hangs', 'error'] as const)
  t.test(
    `a store that ${fault}: each fails, then all fail at once, until it is back`,
    { skip },
    async (t) => {
      const { server, store, key, bytes } = await faultyStore(t);
      server.fault = fault;
      while (!store.isDown) await t.rejects(read(store, key, 0, bytes.length), UNAVAILABLE);
      const { asked } = server;
      const waiting = Array.from({ length: 300 }, () => read(store, key, 0, 10));
      for (const one of await Promise.allSettled(waiting))
        t.match(one, { status: 'rejected', reason: UNAVAILABLE });
      await t.rejects(store.put(newImageKey(), hashed(bytes)), UNAVAILABLE);
      t.ok(server.asked - asked < 10, 'nothing but probes goes to it');
      server.fault = 'none';
      t.ok(await eventually(() => !store.isDown));
      t.ok(bytes.equals(await read(store, key, 0, bytes.length)));
    },
  );

t.test('requests that wait when the store is found to be down fail with it', { skip }, async (t) => {
  const { server, store, key } = await faultyStore(t, { silenceMs: 20_000, probeMs: 100 });
  server.fault = 'hangs';
  const waiting = Promise.allSettled(Array.from({ length: 150 }, () => read(store, key, 0, 10)));
  await eventually(() => server.asked > 60);
  await server.refuse();
  for (const one of await waiting) t.match(one, { status: 'rejected', reason: UNAVAILABLE });
  t.ok(store.isDown);
  await server.listen();
});

t.test(
  'a body that is slow arrives, one that is cut is read on, one that stalls is given up',
  { skip },
  async (t) => {
    const { server, store, key, bytes } = await faultyStore(t);
    for (const fault of ['slow', 'cut once'] as const) {
      server.fault = fault;
      t.ok(bytes.equals(await read(store, key, 0, bytes.length)), fault);
    }
    for (const fault of ['cut', 'stalls'] as const) {
      server.fault = fault;
      await t.rejects(read(store, key, 0, bytes.length), UNAVAILABLE, fault);
    }
    server.fault = 'none';
    t.ok(bytes.equals(await read(store, key, 0, bytes.length)));
  },
);

t.test(
  'a wrong key and a bucket that is not there are no outage, and not taken for an absent picture',
  { skip },
  async (t) => {
    const place = await swift!.bucket();
    for (const wrong of [{ secretKey: 'wrong' }, { accessKey: 'nobody:here' }, { bucket: 'not-there' }]) {
      const store = new S3Store({ ...place, ...wrong }, QUICK);
      t.teardown(() => store.close());
      for (let n = 0; n < 6; n += 1) await t.rejects(read(store, newImageKey(), 0, 10), UNAVAILABLE);
      await t.rejects(store.put(newImageKey(), hashed(randomBytes(10))), UNAVAILABLE);
      t.equal(store.isDown, false);
      const error: Error = await store.now().then(
        () => new Error('no error'),
        (cause) => cause,
      );
      const { message, cause } = error as { message: string; cause: Error };
      t.notMatch(message + cause.message, new RegExp(`${place.bucket}|not-there|127.0.0.1|wrong|nobody`));
    }
  },
);

t.test('what clients see', { skip }, async (t) => {
  const place = await swift!.bucket();
  const server = await FaultyS3.start(t, place.endpoint);
  const settings = imageSettings({ ...place, kind: 's3', endpoint: server.endpoint });
  // Only what is kept can be answered without the store.
  const service: TestService = await start(t, { ...ON_SQLITE, ...settings, SERVICE_CACHE_BYTES: '4194304' });
  const feed = new FeedClient(service.url, 'feed');
  const posted = await Promise.all(
    [300, 400_000, 2_000_000].map((size) => feed.post(picture('png', size, size), PNG)),
  );
  const urls = posted.map(({ json }) => service.url + new URL(json.file_url).pathname);
  const [cached, small, large] = urls as [string, string, string];
  await ask(cached);
  const readId = readIdIn(posted[0]!.json.read_url);
  const goesOn = async (t: Test) => {
    t.equal((await ask(cached)).status, 200, 'what is kept');
    for (const path of [`/r/${readId}/feed.xml`, `/api/v1/read/${readId}/notes`, '/health/ready', '/'])
      t.equal((await ask(service.url + path)).status, 200, path);
    t.equal((await new FeedClient(service.url, 'texts').post('a text')).status, 201);
  };
  const isRefused = async (t: Test, urls: readonly string[]) => {
    const replies = [await feed.post(picture('png'), PNG)];
    for (const url of urls) replies.push(await ask(url));
    for (const reply of replies) {
      t.match({ status: reply.status, code: reply.json?.code }, { status: 503, code: 'store_unavailable' });
      t.equal(reply.headers.get('retry-after'), '5');
    }
  };
  await t.test('a store that refuses connections', async (t) => {
    await server.refuse();
    await isRefused(t, [small, large]);
    await goesOn(t);
    await server.listen();
    t.ok(await eventually(async () => (await ask(small)).status === 200));
  });
  await t.test('a store that answers with errors', async (t) => {
    server.fault = 'error';
    await isRefused(t, [large]);
    await goesOn(t);
    server.fault = 'none';
    t.ok(await eventually(async () => (await ask(large)).status === 200));
  });
  await t.test(
    'a body that is always cut ends a large picture early, and is nothing that a client takes for the whole',
    async (t) => {
      server.fault = 'cut';
      await t.rejects(ask(large));
      server.fault = 'none';
      t.equal((await ask(large)).bytes.length, 2_000_000);
    },
  );
  const logged = JSON.stringify(service.lines);
  for (const secret of [place.bucket, server.endpoint, place.secretKey, place.accessKey])
    t.notMatch(logged, secret);
});

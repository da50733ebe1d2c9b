/** What clients see of an S3 store with faults: the table in docs/backends.md, row by row. */
import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { newImageKey } from '../../src/feeds/ids.ts';
import { S3Store, type S3Tuning } from '../../src/images/s3-store.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyS3 } from '../support/faulty-s3.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { countOf, imageSettings, ON_SQLITE, storeAt } from '../support/image-settings.ts';
import { missing } from '../support/installed.ts';
import { picture } from '../support/pictures.ts';
import { ask, type Reply, start, type TestService } from '../support/service.ts';
import { SwiftServer } from '../support/swift.ts';
import { hashed, read } from './contract.ts';

t.setTimeout(600_000);

const PNG = { 'content-type': 'image/png' };
const QUICK: S3Tuning = { stallMs: 2_000, probeMs: 100 };
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
  const { server, store, key } = await faultyStore(t, { stallMs: 20_000, probeMs: 100 });
  server.fault = 'hangs';
  const waiting = Promise.allSettled(Array.from({ length: 150 }, () => read(store, key, 0, 10)));
  await eventually(() => server.asked > 60);
  await server.refuse();
  for (const one of await waiting) t.match(one, { status: 'rejected', reason: UNAVAILABLE });
  t.ok(await eventually(() => store.isDown));
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
  const place = { ...(await swift!.bucket()), kind: 's3' } as const;
  const server = await FaultyS3.start(t, place.endpoint);
  const settings = imageSettings({ ...place, endpoint: server.endpoint });
  // Only what is kept can be answered without the store.
  const env = { ...ON_SQLITE, ...settings, SERVICE_CACHE_BYTES: '4194304' };
  const service: TestService = await start(t, env);
  const feed = new FeedClient(service.url, 'feed');
  const posted = await Promise.all(
    [300, 400_000, 2_000_000].map((size) => feed.post(picture('png', size, size), PNG)),
  );
  const pathOf = ({ json }: Reply) => new URL(json.file_url).pathname;
  const urls = posted.map((reply) => service.url + pathOf(reply));
  const [cached, small, large] = urls as [string, string, string];
  await ask(cached);
  const readId = readIdIn(posted[0]!.json.read_url);
  const store = await storeAt(t, place);
  let stored = posted.length;
  const goesOn = async (t: Test) => {
    t.equal((await ask(cached)).status, 200, 'what is kept');
    for (const path of [
      `/r/${readId}`,
      `/r/${readId}/feed.xml`,
      `/api/v1/read/${readId}/notes`,
      '/health/ready',
      '/',
    ])
      t.equal((await ask(service.url + path)).status, 200, path);
    t.equal((await new FeedClient(service.url, 'texts').post('a text')).status, 201);
  };
  const refuses = async (t: Test, requests: readonly Promise<Reply>[]) => {
    for (const reply of await Promise.all(requests)) {
      t.match({ status: reply.status, code: reply.json?.code }, { status: 503, code: 'store_unavailable' });
      t.equal(reply.headers.get('retry-after'), '5');
    }
  };
  const postPicture = (size = 600_000) => feed.post(picture('png', size, stored), PNG);
  const isBack = async (t: Test) => {
    server.fault = 'none';
    t.ok(await eventually(async () => (await ask(large)).status === 200));
    t.ok(await eventually(async () => (await countOf(store)) === stored), 'nothing that was refused is left');
  };

  await t.test('a store that refuses connections', async (t) => {
    await server.refuse();
    await refuses(t, [postPicture(), ask(small), ask(large)]);
    await goesOn(t);
    await server.listen();
    await isBack(t);
  });
  await t.test('a store that answers with errors', async (t) => {
    server.fault = 'error';
    await refuses(t, [postPicture(), ask(large)]);
    await goesOn(t);
    await isBack(t);
  });
  await t.test('a store that does not answer: once that is known, nothing waits for it', async (t) => {
    server.fault = 'hangs';
    await refuses(t, [postPicture(), postPicture(), ask(large), ask(large), ask(large)]);
    const { asked } = server;
    const reads = Array.from({ length: 200 }, () => ask(large));
    await refuses(t, [...reads, ...Array.from({ length: 20 }, () => postPicture())]);
    t.ok(server.asked - asked < 5, 'only probes, and none of them is answered');
    await goesOn(t);
    await isBack(t);
  });
  await t.test('a store with no room left', async (t) => {
    server.fault = 'full';
    const { status, json } = await postPicture();
    t.match({ status, code: json.code }, { status: 507, code: 'storage_full' });
    await isBack(t);
  });
  await t.test('a slow one, and bodies that are cut once', async (t) => {
    for (const fault of ['slow', 'cut once'] as const) {
      server.fault = fault;
      t.equal((await ask(large)).bytes.length, 2_000_000, fault);
      server.fault = fault;
      const { status, json } = await postPicture();
      t.equal(status, 201, fault);
      stored += 1;
      server.fault = 'none';
      t.equal((await ask(service.url + new URL(json.file_url).pathname)).bytes.length, 600_000);
    }
    await isBack(t);
  });
  for (const fault of ['cut', 'stalls'] as const)
    await t.test(`a body that is always ${fault}: a large picture that has begun ends early`, async (t) => {
      server.fault = fault;
      // One that is too large to be kept, which has been sent in part when it is cut.
      await Promise.all([t.rejects(ask(large)), refuses(t, [postPicture()])]);
      await isBack(t);
    });
  await t.test('a signature, an access key or a bucket that the store refuses', async (t) => {
    await service.stop();
    for (const wrong of [{ secretKey: 'wrong' }, { accessKey: 'nobody:here' }, { bucket: 'not-there' }]) {
      const other = await start(t, { ...env, ...imageSettings({ ...place, ...wrong }) }, service.dir);
      const others = new FeedClient(other.url, 'feed');
      await refuses(t, [
        others.post(picture('png', 500), PNG),
        ...posted.map((reply) => ask(other.url + pathOf(reply))),
      ]);
      t.equal((await others.post('a text')).status, 201);
      await other.stop();
    }
  });
  const logged = JSON.stringify(service.lines);
  for (const secret of [place.bucket, server.endpoint, place.secretKey, place.accessKey])
    t.notMatch(logged, secret);
});

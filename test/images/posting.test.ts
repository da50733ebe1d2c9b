/** Pictures that are posted to, read from and removed from an image store, through the front door. */

import { join } from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import type { ImagePlace } from '../../src/images/open-images.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { countOf, folderPlace, imageSettings, ON_SQLITE, storeAt } from '../support/image-settings.ts';
import { missing } from '../support/installed.ts';
import { field, file } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { ask, post, start } from '../support/service.ts';
import { SwiftServer } from '../support/swift.ts';
import { zipOf } from '../support/zips.ts';

t.setTimeout(600_000);

const PNG = { 'content-type': 'image/png' };
const SMALL_CACHE = { SERVICE_CACHE_BYTES: String(1024 * 1024) };
const noSwift = missing('swift');
const swift = noSwift ? undefined : await SwiftServer.start(t);

const PLACES: Record<string, (t: Test) => Promise<ImagePlace>> = {
  folder: folderPlace,
  s3: async () => ({ kind: 's3', ...(await swift!.bucket()) }),
};

/** The path of a picture's file. */
const pathOf = (fileUrl: string) => new URL(fileUrl).pathname;

for (const [kind, placeFor] of Object.entries(PLACES)) {
  const skip = kind === 's3' && noSwift;
  t.test(`pictures in a ${kind}`, { skip }, async (t) => {
    const place = await placeFor(t);
    const service = await start(t, { ...ON_SQLITE, ...SMALL_CACHE, ...imageSettings(place) });
    const store = await storeAt(t, place);
    const holds = (count: number) => eventually(async () => (await countOf(store)) === count);
    const db = new Database(join(service.dir, 'notefeed.db'), { readonly: true });
    t.teardown(() => db.close());
    const feed = new FeedClient(service.url, 'feed');

    for (const size of [100, 30_000, 700_000]) {
      await t.test(`one of ${size} bytes is an object, and its row is empty`, async (t) => {
        const bytes = picture('png', size, size);
        const posted = await feed.post(bytes, PNG);
        t.equal(posted.status, 201);
        t.equal(await countOf(store), 1);
        const row = db
          .prepare<[], { content: Buffer; image_key: string; size: number }>(
            'SELECT content, image_key, size FROM notes',
          )
          .get();
        t.match(row, { content: Buffer.alloc(0), image_key: /^[0-9a-f]{32}$/, size });
        const url = service.url + pathOf(posted.json.file_url);
        for (let n = 0; n < 2; n += 1) {
          const got = await ask(url);
          t.equal(got.status, 200);
          t.ok(bytes.equals(got.bytes));
        }
        const part = await ask(url, { headers: { range: 'bytes=20-59' } });
        t.equal(part.status, 206);
        t.ok(bytes.subarray(20, 60).equals(part.bytes));
        const head = await ask(url, { method: 'HEAD' });
        t.equal(head.headers.get('content-length'), String(size));
        const etag = { 'if-none-match': head.headers.get('etag')! };
        t.equal((await ask(url, { headers: etag })).status, 304);

        const other = picture('png', size + 7, size + 7);
        const id = posted.json.id;
        t.equal(
          (await ask(`${feed.record}/notes/${id}`, { method: 'PUT', headers: PNG, body: other })).status,
          200,
        );
        t.ok(other.equals((await ask(url)).bytes));
        t.ok(await holds(1), 'the old object is removed');
        t.notMatch(JSON.stringify([posted.text, service.lines]), row!.image_key);

        t.equal((await feed.send('DELETE', `/notes/${id}`)).status, 204);
        t.equal((await ask(url)).status, 404);
        t.ok(await holds(0), 'and the new one with its note');
        t.ok(await eventually(() => db.prepare('SELECT 1 FROM freed_keys').get() === undefined));
      });
    }

    await t.test('what is refused leaves nothing', async (t) => {
      const limited = await start(t, {
        ...ON_SQLITE,
        ...imageSettings(place),
        SERVICE_MAX_IMAGES_PER_FEED: '1',
      });
      const full = new FeedClient(limited.url, 'full');
      t.equal((await full.post(picture('png', 90, 1), PNG)).status, 201);
      t.equal((await full.post(picture('png', 90, 2), PNG)).json.code, 'image_limit');
      t.equal((await full.post(picture('gif'), PNG)).json.code, 'unsupported_type');
      const form = [field('text', 'x'), file('file', 'a.png', 'image/png', picture('png', 90, 3))];
      t.equal((await full.postForm(form)).json.code, 'image_limit');
      t.ok(await holds(1));
      const body = zipOf(['a.gif', 'b.gif'].map((name) => ({ name, bytes: picture('gif', 90) })));
      const zip = { method: 'POST', headers: { 'content-type': 'application/zip' }, body };
      const half = new FeedClient(limited.url, 'half');
      t.match((await ask(`${half.record}/import`, zip)).json, { imported: 1, refused_count: 1 });
      t.ok(await holds(2), 'nothing of the picture that did not fit');
      await half.delete();
      await full.delete();
      t.ok(await holds(0), 'a deleted feed takes its objects with it');
    });

    await t.test(
      'a post that is sent again under its key, or replaced by it, leaves one object',
      async (t) => {
        const keyed = new FeedClient(service.url, 'keyed', PNG);
        const post = () => keyed.post(picture('png', 80, 1), { ...PNG, 'idempotency-key': 'once' });
        const [first, again] = [await post(), await post()];
        t.equal(again.headers.get('idempotent-replayed'), 'true');
        t.equal(again.headers.get('etag'), first.headers.get('etag'));
        t.ok(await holds(1));
        t.equal((await keyed.put('/notes?key=once', picture('png', 90, 2))).status, 200);
        t.ok(await holds(1));
        t.ok(picture('png', 90, 2).equals((await ask(service.url + pathOf(first.json.file_url))).bytes));
        await keyed.delete();
        t.ok(await holds(0));
      },
    );

    await t.test('a form of many is many objects', async (t) => {
      const files = Array.from({ length: 10 }, (_, n) =>
        file('file', `${n}.png`, 'image/png', picture('png', 50_000, n)),
      );
      const posted = await feed.postForm([field('text', '![](3.png)'), ...files]);
      t.equal(posted.status, 201);
      t.equal(await countOf(store), 10);
      for (const [n, { file_url }] of posted.json.attachments.entries())
        t.ok(picture('png', 50_000, n).equals((await ask(service.url + pathOf(file_url))).bytes));
    });

    for (const size of [100, 700_000]) {
      await t.test(`an object of ${size} bytes that is gone is not found, and its note stays`, async (t) => {
        const posted = await feed.post(picture('png', size, 9), PNG);
        const { image_key } = db
          .prepare<[string], { image_key: never }>('SELECT image_key FROM notes WHERE id = ?')
          .get(posted.json.id)!;
        t.equal(await store.delete(image_key), true);
        const url = service.url + pathOf(posted.json.file_url);
        for (const init of [{}, { method: 'HEAD' }, { headers: { range: 'bytes=1-2' } }])
          t.equal((await ask(url, init)).status, 404);
        t.equal((await feed.send('GET', `/notes/${posted.json.id}`)).status, 200);
        t.equal((await feed.send('DELETE', `/notes/${posted.json.id}`)).status, 204);
      });
    }

    await t.test('objects stay for the hours that backups need them', async (t) => {
      const place = await placeFor(t);
      const settings = { ...ON_SQLITE, ...imageSettings(place), SERVICE_IMAGES_KEEP_HOURS: '2' };
      const service = await start(t, settings);
      const feed = new FeedClient(service.url, 'feed');
      const store = await storeAt(t, place);
      const db = new Database(join(service.dir, 'notefeed.db'));
      t.teardown(() => db.close());
      const freed = () => db.prepare<[], { key: string }>('SELECT key FROM freed_keys').pluck().all();
      const remove = async (size: number) => {
        const { json } = await feed.post(picture('png', size), PNG);
        const before = freed();
        await feed.send('DELETE', `/notes/${json.id}`);
        return { url: json.file_url, key: freed().find((key) => !before.includes(key)) };
      };
      const [kept, old] = [await remove(10), await remove(20)];
      db.prepare('UPDATE freed_keys SET due_at = due_at - 7200000 WHERE key = ?').run(old.key);
      t.ok(await eventually(() => !freed().includes(old.key as never)));
      t.same(freed(), [kept.key]);
      t.equal(await countOf(store), 1);
      t.equal((await ask(service.url + pathOf(kept.url))).status, 404, 'nobody gets it any more');
    });

    await t.test('pictures from before there was a store are served on', async (t) => {
      const before = await start(t, ON_SQLITE);
      const old = new FeedClient(before.url, 'old');
      const posted = await old.post(picture('png', 300_000, 5), PNG);
      await before.stop();
      const after = await start(t, { ...ON_SQLITE, ...imageSettings(place) }, before.dir);
      const got = await ask(after.url + pathOf(posted.json.file_url));
      t.ok(picture('png', 300_000, 5).equals(got.bytes));
    });
  });
}

/** Reads of the store at once. */
const SLOTS = 64;

t.test(
  'readers that leave before their request ends keep no slot of a bucket',
  { skip: noSwift },
  async (t) => {
    const place = { kind: 's3', ...(await swift!.bucket()) } as const;
    const { url, port } = await start(t, { ...ON_SQLITE, ...SMALL_CACHE, ...imageSettings(place) });
    const bytes = picture('png', 400_000);
    const address = (await post(`${url}/feed`, bytes, PNG)).json.file_url;
    for (let reader = 0; reader < SLOTS; reader += 1) {
      const connection = await RawConnection.open(port);
      connection.send(`GET ${pathOf(address)} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`);
      // Its first bytes are there, because those of a later request are.
      t.equal((await ask(address, { headers: { range: 'bytes=0-9' } })).status, 206);
      connection.close();
    }
    t.ok((await ask(address)).bytes.equals(bytes));
  },
);

/** An instance that is moved over a line on which nothing fits into the time limits of the service. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { NoteId, ReadId } from '../../src/feeds/names.ts';
import { PostgresArchive } from '../../src/storage/postgres/postgres-archive.ts';
import { PostgresServer } from '../support/postgres.ts';
import { post } from '../support/storing.ts';
import { feedName, newNote } from './contract.ts';
import { opened } from './postgres-support.ts';

t.setTimeout(600_000);

const MIB = 1024 * 1024;
const SENT_BYTES_PER_MS = MIB / 1_000;
/** The server answers with two digits for each byte. */
const ANSWERED_BYTES_PER_MS = 2 * SENT_BYTES_PER_MS;
/** Longer under way than a statement of the service may take. */
const BYTES = Buffer.alloc(7 * MIB, 'x');

const FEED = {
  name: feedName('feed'),
  readId: 'read-feed' as ReadId,
  passwordHash: undefined,
  license: undefined,
  keepDays: undefined,
  keepNotes: undefined,
  title: '',
  description: '',
  showSender: true,
  listed: false,
  image: undefined,
  changedAt: 0,
  noteCount: 1,
  imageCount: 0,
};

const server = await PostgresServer.start(t);

/** The URL of the same database by way of a slow line. */
async function slowed(t: Test, url: string): Promise<string> {
  const pass = async (from: Socket, to: Socket, bytesPerMs: number) => {
    for await (const chunk of from) {
      await wait(chunk.byteLength / bytesPerMs);
      to.write(chunk);
    }
    to.end();
  };
  const line = createServer((client) => {
    const database = connect(server.port, '127.0.0.1');
    pass(client, database, SENT_BYTES_PER_MS).catch(() => {});
    pass(database, client, ANSWERED_BYTES_PER_MS).catch(() => {});
  }).listen(0, '127.0.0.1');
  await once(line, 'listening');
  t.teardown(() => line.close());
  const through = new URL(url);
  through.port = String((line.address() as AddressInfo).port);
  return through.href;
}

t.test('a batch may take as long as it takes, both ways', async (t) => {
  const archive = await PostgresArchive.open(await slowed(t, await server.database()));
  t.teardown(() => archive.close());
  await archive.addFeed(FEED);
  const note = { type: 'md', createdAt: 0, modifiedAt: 0, meta: { tags: [] } } as const;
  // The second finds its statement prepared, so that nothing small goes before it.
  for (const [id, bytes] of [
    ['first', Buffer.alloc(0)],
    ['second', BYTES],
  ] as const)
    await archive.addNotes(FEED, [{ ...note, id: id as NoteId, bytes }]);
  const sizes = [];
  for await (const { bytes } of archive.notes(FEED.name)) sizes.push(bytes.byteLength);
  t.same(sizes, [0, BYTES.byteLength]);
});

t.test('a note dated ahead does not hide those that come after the move', async (t) => {
  const url = await server.database();
  const archive = await PostgresArchive.open(url);
  const ahead = Date.now() + 86_400_000;
  const note = { type: 'md', createdAt: ahead, modifiedAt: 0, meta: { tags: [] } } as const;
  await archive.addFeed(FEED);
  await archive.addNotes(FEED, [{ ...note, id: 'ahead' as NoteId, bytes: Buffer.from('ahead') }]);
  await archive.close();
  const storage = await opened(t, url);
  const feed = (await storage.feed(FEED.name))!;
  const [last] = (await storage.arrivals(feed, undefined, 1))!.notes;
  t.equal(last?.id, 'ahead');
  const next = newNote('next');
  await post(storage, FEED.name, next);
  t.match(await storage.arrivals(feed, last, 10), { notes: [{ id: next.id }], isComplete: true });
});

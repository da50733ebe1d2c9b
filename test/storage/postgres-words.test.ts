/** Several containers that make the words of notes, each of which takes long. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import type { FeedName } from '../../src/feeds/names.ts';
import { ensureSearch } from '../../src/storage/postgres/search-schema.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { post } from '../support/storing.ts';
import { newNote } from './contract.ts';
import { opened } from './postgres-support.ts';

t.setTimeout(600_000);

const server = await PostgresServer.start(t);

t.test(
  'of several containers one gets ready, also with texts that each take longer than a lease',
  async (t) => {
    const url = await server.database();
    const storage = await opened(t, url);
    for (const text of ['a', 'b', 'c']) await post(storage, 'feed' as FeedName, newNote(text));
    await ensureSearch(url);
    const script = new URL('../fixtures/slow-words.ts', import.meta.url);
    const threads = [1, 2].map(() => new Worker(script, { workerData: { url } }));
    const made = async () =>
      Number((await server.sql(url, 'SELECT count(*) FROM note_words WHERE feed > 0'))[0]!.count);
    t.ok(await eventually(async () => (await made()) === 3));
    const ended = threads.map((thread) => once(thread, 'exit'));
    for (const thread of threads) thread.postMessage('close');
    await Promise.all(ended);
  },
);

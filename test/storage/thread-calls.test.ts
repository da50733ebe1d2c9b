import t, { type Test } from 'tap';
import { ThreadCalls, type ThreadOptions } from '../../src/storage/thread-calls.ts';
import { threadsOf } from '../support/failing-threads.ts';

interface Work {
  count(): number;
  die(): void;
  refuse(): void;
}

const script = new URL('../fixtures/thread-work.ts', import.meta.url);

function threadOf(t: Test, data?: string, events?: ThreadOptions): ThreadCalls<Work> {
  const thread = new ThreadCalls<Work>(script, data, events);
  t.teardown(() => thread.close());
  return thread;
}

t.test('calls of one turn go to the thread together', async (t) => {
  const thread = await threadOf(t).start();
  t.same(await Promise.all([1, 2, 3].map(() => thread.call('count'))), [3, 3, 3]);
  t.equal(await thread.call('count'), 1);
});

t.test('a call with what no message can hold fails alone', async (t) => {
  const thread = await threadOf(t).start();
  const unsendable = thread.call('count', ...([() => {}] as unknown as []));
  const [failed, counted] = await Promise.allSettled([unsendable, thread.call('count')]);
  t.match(failed, { status: 'rejected', reason: { name: 'DataCloneError' } });
  t.match(counted, { status: 'fulfilled', value: 1 });
});

t.test('a refusal arrives with its code and its cause', async (t) => {
  const refused = { code: 'taken', status: 409, message: 'No.', cause: { message: 'why', code: 'CODE' } };
  await t.rejects(threadOf(t).call('refuse'), refused);
});

t.test('a thread that dies takes only its calls with it, and another takes its place', async (t) => {
  const deaths: Promise<unknown>[] = [];
  const thread = await threadOf(t, undefined, { onDeath: (ended) => deaths.push(ended) }).start();
  const both = await Promise.allSettled([thread.call('die'), thread.call('count')]);
  for (const one of both)
    t.match(one, { status: 'rejected', reason: { code: 'store_unavailable', status: 503 } });
  t.equal(await thread.call('count'), 1);
  t.equal(deaths.length, 1);
  await deaths[0];
});

t.test('calls fail while no thread can be made, and a later one makes it', async (t) => {
  const { faults } = threadsOf(t);
  faults.push('none is made');
  const thread = threadOf(t);
  for (const one of await Promise.allSettled([thread.call('count'), thread.call('count')]))
    t.match(one, { status: 'rejected', reason: { code: 'store_unavailable', status: 503 } });
  t.equal(await thread.call('count'), 1);
});

t.test('a thread that cannot be opened says why', async (t) => {
  await t.rejects(threadOf(t, 'refuse').start(), { message: 'It cannot be opened.' });
});

t.test('closing waits for the calls made', async (t) => {
  const thread = threadOf(t);
  const counting = thread.call('count');
  await thread.close();
  t.equal(await counting, 1);
});

import { randomBytes } from 'node:crypto';
import t from 'tap';
import { feedPassword, Passwords } from '../../src/access/passwords.ts';
import { WorkerPool } from '../../src/worker-pool.ts';

const pool = new WorkerPool({ threads: 2, maxQueue: 50 });
t.teardown(() => pool.drain());

/** Passwords whose tasks are recorded by the name of their work. */
function create(run: WorkerPool['run'] = (work, task) => pool.run(work, task)) {
  const tasks: string[] = [];
  const counting = {
    run(work: string | URL, task: unknown) {
      tasks.push(String(work));
      return run(work, task);
    },
  };
  return { passwords: new Passwords(counting, randomBytes(32)), tasks };
}

/** A pool whose tasks wait until they are settled. */
function createWaiting() {
  const waiting: PromiseWithResolvers<unknown>[] = [];
  const made = create(() => {
    const task = Promise.withResolvers<unknown>();
    waiting.push(task);
    return task.promise;
  });
  return { ...made, waiting };
}

t.test('a password is right for its own stored form only', async (t) => {
  const { passwords } = create();
  const [one, other] = await Promise.all([passwords.hash('one'), passwords.hash('other')]);
  t.match(one, /^\$argon2id\$/);
  const { passwords: restarted } = create();
  for (const each of [passwords, restarted]) {
    t.equal(await each.verify(one, 'one'), true);
    t.equal(await each.verify(one, 'other'), false);
    t.equal(await each.verify(other, 'one'), false);
    t.equal(await each.verify('not a hash', 'one'), false);
  }
});

t.test('a right password is paid for once, also by who has just chosen it', async (t) => {
  const { passwords, tasks } = create();
  const stored = await passwords.hash('mine');
  t.equal(await passwords.verify(stored, 'mine'), true);
  t.same(tasks, ['hash-password']);
  const { passwords: restarted, tasks: later } = create();
  for (let i = 0; i < 5; i += 1) t.equal(await restarted.verify(stored, 'mine'), true);
  t.same(later, ['verify-password']);
});

t.test('a wrong password is paid for every time', async (t) => {
  const { passwords, tasks } = create();
  const stored = await passwords.hash('mine');
  for (let i = 0; i < 3; i += 1) t.equal(await passwords.verify(stored, 'yours'), false);
  t.same(tasks.slice(1), ['verify-password', 'verify-password', 'verify-password']);
});

t.test('what was remembered does not hold for another stored form', async (t) => {
  const { passwords, tasks } = create();
  const before = await passwords.hash('mine');
  const after = await passwords.hash('mine');
  const { passwords: restarted, tasks: later } = create();
  t.equal(await restarted.verify(before, 'mine'), true);
  t.equal(await restarted.verify(after, 'mine'), true);
  t.equal(await restarted.verify(await passwords.hash('changed'), 'mine'), false);
  t.equal(later.length, 3);
  t.equal(tasks.length, 3);
});

t.test('a stored form and a password cannot be divided in another place', async (t) => {
  const { passwords, tasks } = create(async () => true);
  await passwords.verify('form', 'password');
  await passwords.verify('formp', 'assword');
  t.equal(tasks.length, 2);
});

t.test('the same question at once is asked once', async (t) => {
  const { passwords, tasks, waiting } = createWaiting();
  const same = Array.from({ length: 100 }, () => passwords.verify('form', 'mine'));
  const other = passwords.verify('form', 'yours');
  t.equal(tasks.length, 2);
  waiting.pop()!.resolve(false);
  for (const { resolve } of waiting) resolve(true);
  t.same(new Set(await Promise.all(same)), new Set([true]));
  t.equal(await other, false);
});

t.test('a question that failed is asked again', async (t) => {
  const { passwords, tasks, waiting } = createWaiting();
  const asked = [passwords.verify('form', 'mine'), passwords.verify('form', 'mine')];
  waiting[0]!.reject(new Error('the thread died'));
  for (const each of asked) await t.rejects(each, { message: 'the thread died' });
  const again = passwords.verify('form', 'mine');
  t.equal(tasks.length, 2);
  waiting[1]!.resolve(true);
  t.equal(await again, true);
});

t.test('ten thousand are remembered, those used last', async (t) => {
  const { passwords, tasks } = create(async () => true);
  for (let i = 0; i < 10_000; i += 1) await passwords.verify('form', String(i));
  await passwords.verify('form', '0');
  t.equal(tasks.length, 10_000);
  await passwords.verify('form', 'one more');
  await passwords.verify('form', '0');
  t.equal(tasks.length, 10_001);
  await passwords.verify('form', '1');
  t.equal(tasks.length, 10_002);
});

t.test('a flood is refused, while who is remembered is let through', async (t) => {
  const { passwords } = create();
  const stored = await passwords.hash('mine');
  const flood = Array.from({ length: 80 }, (_, i) => passwords.verify(stored, `guess ${i}`));
  const settled = Promise.allSettled(flood);
  t.equal(await passwords.verify(stored, 'mine'), true);
  const results = await settled;
  const refused = results.filter((result) => result.status === 'rejected');
  t.equal(refused.length, 28);
  t.match(refused[0], { reason: { code: 'busy', headers: { 'Retry-After': '1' } } });
  for (const result of results) if (result.status === 'fulfilled') t.equal(result.value, false);
});

for (const text of ['x', 'a b', '~!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}', 'p'.repeat(256)]) {
  t.test(`a feed may have the password "${text.slice(0, 40)}"`, async (t) =>
    t.equal(feedPassword(text), text),
  );
}

const RULE =
  /^The feed password must be 1 to 256 printable ASCII characters without a space at either end\.$/;
for (const text of [
  ' ',
  ' a',
  'a ',
  'p'.repeat(257),
  'caf\u00e9',
  'a\tb',
  'a\n',
  '\x7f',
  '\0',
  '\u{1f600}',
]) {
  t.test(`no feed has the password ${JSON.stringify(text.slice(0, 40))}`, async (t) => {
    t.throws(() => feedPassword(text), { name: 'Refusal', code: 'invalid_request', message: RULE });
  });
}

t.test('the sentence says where the password stood', async (t) => {
  t.throws(() => feedPassword(' ', 'password'), { message: /^password must be/ });
});

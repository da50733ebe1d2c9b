import t from 'tap';
import { AnswerMemory, type SlowReader } from '../../src/http/answer-memory.ts';

const KIB = 1024;

/** Readers that name themselves when they are ended. */
function readers() {
  const ended: string[] = [];
  const reader = (client: string, name = client): SlowReader => ({ client, giveWay: () => ended.push(name) });
  return { ended, reader };
}

t.test('the client with the most loses what it has held for longest, until there is room', async (t) => {
  const memory = new AnswerMemory(10 * KIB);
  const { ended, reader } = readers();
  const shared = new ArrayBuffer(4 * KIB);
  memory.hold(new ArrayBuffer(1 * KIB), reader('small'));
  for (const name of ['first', 'second']) memory.hold(shared, reader('large', name));
  memory.hold(new ArrayBuffer(2 * KIB), reader('large', 'third'));
  memory.hold(new ArrayBuffer(3 * KIB), reader('middle'));
  t.same(ended, [], 'an answer counts once');
  memory.hold(new ArrayBuffer(1 * KIB), reader('new'));
  t.same(ended, ['first', 'second']);
  memory.hold(new ArrayBuffer(4 * KIB), reader('newer'));
  t.same(ended, ['first', 'second', 'newer']);
});

t.test('an answer counts until its last reader has it', async (t) => {
  const memory = new AnswerMemory(4 * KIB);
  const { ended, reader } = readers();
  const [shared, quick] = [new ArrayBuffer(4 * KIB), reader('quick')];
  for (const one of [quick, reader('slow')]) memory.hold(shared, one);
  memory.release(shared, quick);
  memory.hold(new ArrayBuffer(KIB), reader('new'));
  t.same(ended, ['slow']);
});

t.test('room is made again and again', async (t) => {
  const memory = new AnswerMemory(10 * KIB);
  const { ended, reader } = readers();
  for (let n = 0; n < 100; n += 1) memory.hold(new ArrayBuffer(KIB), reader(`${n % 3}`, `${n}`));
  t.equal(ended.length, 90);
  t.equal(new Set(ended).size, 90);
});

t.test('thousands of slow readers are ended without keeping the event loop', async (t) => {
  const [COUNT, SMALL] = [8_000, 4 * KIB];
  const all = COUNT * SMALL;
  const answers = {
    'of one answer': () => {
      const shared = new ArrayBuffer(all);
      return () => shared;
    },
    'each of another': () => () => new ArrayBuffer(SMALL),
  };
  for (const [name, make] of Object.entries(answers)) {
    const memory = new AnswerMemory(1.5 * all);
    const { ended, reader } = readers();
    const next = make();
    for (let n = 0; n < COUNT; n += 1) memory.hold(next(), reader('large'));
    memory.hold(new ArrayBuffer(all / 2), reader('other'));
    t.same(ended, []);
    const before = process.threadCpuUsage();
    memory.hold(new ArrayBuffer(all / 4), reader('new'));
    const { user, system } = process.threadCpuUsage(before);
    t.ok(user + system < 50_000, `${name}: ${user + system} µs of CPU time`);
    t.ok(ended.length >= COUNT / 4, name);
    t.ok(ended.every((client) => client === 'large'));
  }
});

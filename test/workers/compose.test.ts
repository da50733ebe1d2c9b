import { createHash } from 'node:crypto';
import { mock } from 'node:test';
import { Piscina } from 'piscina';
import t from 'tap';
import type { FeedName } from '../../src/feeds/names.ts';
import { type Composed, type ComposeTask, compose } from '../../src/read/views/compose.ts';
import { fullDocument } from '../support/view-notes.ts';

const document = fullDocument();
const page = { notes: document.notes, next: 'cursor', base: document.base, readId: document.readId };
const TASKS: ComposeTask[] = [
  { view: 'rss', document },
  { view: 'json-feed', document },
  { view: 'named-note-list', document: { ...page, name: 'secret-name' as FeedName } },
  { view: 'public-note-list', document: { ...page, showSender: false } },
];

t.test('a worker composes the same bytes as the event loop', async (t) => {
  const filename = new URL('../../workers/compose.ts', import.meta.url).href;
  const pool = new Piscina({ filename, maxThreads: 1 });
  t.teardown(() => pool.destroy());
  for (const task of TASKS) {
    const { bytes, sha256 }: Composed = await pool.run(task);
    const expected = compose(task);
    t.equal(Buffer.compare(bytes, expected.bytes), 0, task.view);
    t.equal(sha256, expected.sha256);
    t.equal(sha256, createHash('sha256').update(bytes).digest('base64url'));
    t.equal(bytes.buffer.byteLength, bytes.length, 'in a buffer of its own');
  }
});

t.test('each view is what its name says', async (t) => {
  const [xml, ...json] = TASKS.map((task) => new TextDecoder().decode(compose(task).bytes));
  const [feed, named, open] = json.map((text) => JSON.parse(text));
  t.match(xml, /^<\?xml /);
  t.match(feed.version, 'jsonfeed');
  t.match(named.notes[0], { url: /secret-name/, sender: 'Ada' });
  t.match(open.notes[0], { url: /\/r\//, sender: undefined });
});

t.test('the same document gives the same bytes at any time', async (t) => {
  const today = TASKS.map((task) => compose(task).sha256);
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 86_400_000 });
  t.teardown(() => mock.timers.reset());
  t.same(
    TASKS.map((task) => compose(task).sha256),
    today,
  );
});

import { createHash } from 'node:crypto';
import { mock } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Piscina } from 'piscina';
import t from 'tap';
import type { FeedName } from '../../src/feeds/names.ts';
import { unrendered } from '../../src/read/note-html.ts';
import type { RenderedTexts } from '../../src/read/renderer.ts';
import type { ViewTask } from '../../src/read/views/compose.ts';
import { type Composed, type ComposeTask, compose, type FeedTask } from '../../src/read/views/compose.ts';
import type { ViewNote } from '../../src/read/views/document.ts';
import { WorkerPool } from '../../src/worker-pool.ts';
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
    const { bytes, sha256, encoded }: Composed = await pool.run({ task, coding: 'br' });
    const expected = compose(task);
    t.equal(Buffer.compare(bytes, expected.bytes), 0, task.view);
    t.equal(sha256, expected.sha256);
    t.equal(sha256, createHash('sha256').update(bytes).digest('base64url'));
    t.equal(bytes.buffer.byteLength, bytes.length, 'in a buffer of its own');
    t.ok(brotliDecompressSync(encoded!.bytes).equals(bytes), 'and compressed');
  }
});

t.test('a worker composes a view with the last of its texts, unless its time is over', async (t) => {
  const pool = new WorkerPool({ threads: 1, maxQueue: 0 });
  t.teardown(() => pool.drain());
  const [first, ...others] = document.notes.map(({ rendered: _, ...note }) => note);
  const rendered = unrendered(first!.content!);
  const notes: ViewNote[] = [{ ...first!, rendered }, ...others];
  const render = async (view: ViewTask<FeedTask>, ms: number) =>
    (await pool.run(
      'render-texts',
      { view, ms },
      { limit: { ms: 60_000, counts: 'time' } },
    )) as RenderedTexts;
  const view: ViewTask<FeedTask> = {
    task: { view: 'rss', document: { ...document, notes } },
    coding: 'gzip',
  };
  const made = await render(view, 10_000);
  const left = others.filter(({ content }) => content).length;
  t.equal(made.rendered.length, left);
  const last = made.rendered.values();
  const shown = notes.map((note) =>
    note.content && !note.rendered ? { ...note, rendered: last.next().value } : note,
  );
  const expected = compose({ view: 'rss', document: { ...document, notes: shown } });
  t.equal(made.composed?.sha256, expected.sha256);
  t.ok(gunzipSync(made.composed!.encoded!.bytes).equals(expected.bytes));
  const unfinished: ViewTask<FeedTask> = {
    ...view,
    task: { view: 'rss', document: { ...document, notes: [first!, first!, ...others] } },
  };
  t.equal((await render(unfinished, 0)).composed, undefined);
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

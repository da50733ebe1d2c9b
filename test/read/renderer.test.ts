import t from 'tap';
import type { ReadId } from '../../src/feeds/names.ts';
import type { RenderingPools } from '../../src/read/lanes.ts';
import { unrendered } from '../../src/read/note-html.ts';
import { placedHtml, type Rendered } from '../../src/read/note-text.ts';
import { type RenderedFeed, Renderer, type UnrenderedTexts } from '../../src/read/renderer.ts';
import type { FeedTask } from '../../src/read/views/compose.ts';
import { noteTitle } from '../../src/read/views/shown-note.ts';
import { Refusal } from '../../src/refusals.ts';
import { TaskTimeout, type WorkerPool } from '../../src/worker-pool.ts';
import { eventually } from '../support/eventually.ts';
import { feedDocument, unrenderedNote } from '../support/view-notes.ts';

/** A time that no test sees, and one that passes at once; ms. */
const [LONG, SHORT] = [1e9, 1];

/** A task of a pool, which ends when the test says so. */
interface HeldTask {
  readonly pool: string;
  /** How many texts it is to render. */
  readonly texts: number;
  /** Whether it is to compose their view, too. */
  readonly composes: boolean;
  readonly signal: AbortSignal | undefined;
  /** Resolves it with HTML of its texts; undefined for one that is too slow. */
  readonly render: (...html: (string | undefined)[]) => void;
  readonly reject: (cause: unknown) => void;
}

function heldPools(): { pools: RenderingPools; tasks: HeldTask[] } {
  const tasks: HeldTask[] = [];
  const held = (pool: string) => ({
    run(_: string, task: UnrenderedTexts, { signal }: { signal?: AbortSignal }) {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const render: HeldTask['render'] = (...html) =>
        resolve({ rendered: html.map((one) => (one === undefined ? undefined : asRendered(one))) });
      const texts = task.view
        ? task.view.task.document.notes.filter((note) => note.content && !note.rendered).length
        : task.contents.length;
      tasks.push({ pool, texts, composes: task.view !== undefined, signal, render, reject });
      return promise;
    },
  });
  const pool = (name: string) => held(name) as unknown as WorkerPool;
  const names = ['parsing', 'slowParsing', 'slowestParsing'] as const;
  return { tasks, pools: Object.fromEntries(names.map((name) => [name, pool(name)])) as RenderingPools };
}

const asRendered = (html: string): Rendered => ({
  title: 'title',
  html,
  htmlLength: html.length,
  excerpt: '',
  pictures: [],
});

/** A text that is rendered on a thread. */
const long = (text: string) => text.padEnd(400);
const bytes = (text: string) => new TextEncoder().encode(long(text));

const feedOf = (texts: readonly string[], readId: string, base: string): FeedTask => ({
  view: 'rss',
  document: { ...feedDocument(texts.map((text) => unrenderedNote(text))), base, readId: readId as ReadId },
});

/** The HTML of each note, without the spaces that make it long. */
const htmlOf = ({ task }: RenderedFeed) =>
  task.document.notes.map(({ rendered }) =>
    placedHtml(rendered!, 'https://x.example/').replace(/ +(?=<)/, ''),
  );

function renderer({ patienceMs = LONG, keepBytes = 100_000 } = {}) {
  const { pools, tasks } = heldPools();
  const real = new Renderer(pools, keepBytes, patienceMs);
  const feed = (texts: readonly string[], readId = 'read-id', base = 'https://x.example') =>
    real.render(feedOf(texts.map(long), readId, base));
  return {
    real,
    tasks,
    feed,
    /** The HTML of a note; undefined if a later read may get another one. */
    html: async (text: string, readId?: string, base?: string) => {
      const read = await feed([text], readId, base);
      return read.isComplete ? htmlOf(read)[0] : undefined;
    },
    preview: async (text: string, signal?: AbortSignal) =>
      placedHtml(
        (await real.text(bytes(text), 'client', signal)) ?? unrendered(bytes(text)),
        'https://x.example/',
      ).replace(/ +(?=<)/, ''),
    /** The task that began last. */
    last: async () => {
      await settle();
      return tasks.at(-1)!;
    },
  };
}

/** Lets everything run that waits for nothing but its turn. */
const settle = () => new Promise(setImmediate);

t.test('a text is rendered once for all who ask, wherever they are', async (t) => {
  const { html, tasks, last } = renderer();
  const bases = ['https://a.example', 'http://b.example', 'https://a.example'];
  const asked = bases.map((base) => html('a', 'read-id', base));
  (await last()).render('<p>a</p>');
  t.strictSame(new Set(await Promise.all(asked)), new Set(['<p>a</p>']));
  t.equal(await html('a', 'other feed', 'https://c.example'), '<p>a</p>');
  t.equal(tasks.length, 1);
});

t.test('a title needs no task if the text shows it at its beginning, or the text was rendered', async (t) => {
  const titlesBy = async (real: Renderer, texts: readonly string[]) => {
    const notes = texts.map((text) => unrenderedNote(text));
    return (await real.titled(notes, 'read-id' as ReadId)).notes.map((note) => noteTitle(note));
  };
  const flat = ['# One\n\n> > b', 'two\n\n- a\n  - b\n', 'Three\n===\n|a|b|'];
  // The first texts of a process take longer, and all on a busy machine.
  const isAtOnce = async () => {
    const { real, tasks } = renderer();
    const asked = titlesBy(real, flat);
    await settle();
    if (tasks.length > 0) return false;
    t.same(await asked, ['One', 'two', 'Three']);
    return true;
  };
  t.ok(await eventually(isAtOnce));
  const { real, html, tasks, last } = renderer();
  const titles = (...texts: string[]) => titlesBy(real, texts);
  const asked = titles('a', long('> quote'), 'b');
  (await last()).render('<p></p>');
  t.same(await asked, ['a', 'title', 'b']);
  t.equal(await html('> quote'), '<p></p>');
  t.same(await titles(long('> quote')), ['title']);
  t.equal(tasks.length, 1);
});

t.test('a note that was changed is told even if nothing can be rendered', async (t) => {
  const { real, last } = renderer();
  const asked = real.titledNote(unrenderedNote(long('> quote')), 'read-id' as ReadId);
  (await last()).reject(new Refusal('busy', 'Too many tasks.'));
  t.equal(noteTitle(await asked), '> quote');
});

t.test('different feeds do not wait for each other', async (t) => {
  const { feed, tasks } = renderer();
  const asked = ['one', 'two'].map((readId) => feed([readId], readId));
  await settle();
  t.equal(tasks.length, 2);
  for (const task of tasks) task.render('<p></p>');
  await Promise.all(asked);
});

t.test('views of one feed take turns', async (t) => {
  const { feed, tasks } = renderer();
  const asked = [feed(['a', 'b']), feed(['b', 'c']), feed(['d'], 'other')];
  await settle();
  t.equal(tasks.length, 2, 'but not with those of another');
  tasks[0]!.render('<p>a</p>', '<p>b</p>');
  tasks[1]!.render('<p>d</p>');
  await settle();
  t.equal(tasks.length, 3);
  tasks[2]!.render('<p>c</p>');
  t.strictSame(htmlOf((await Promise.all(asked))[1]!), ['<p>b</p>', '<p>c</p>']);
});

t.test('the notes of a feed are one task, or more with others in between', async (t) => {
  const { feed, tasks, last } = renderer();
  const asked = feed(['a', 'b', 'c']);
  (await last()).render('<p>a</p>', '<p>b</p>');
  (await last()).render('<p>c</p>');
  t.strictSame(htmlOf(await asked), ['<p>a</p>', '<p>b</p>', '<p>c</p>']);
  t.strictSame(htmlOf(await feed(['c', 'b', 'a'])), ['<p>c</p>', '<p>b</p>', '<p>a</p>']);
  t.strictSame(
    tasks.map(({ texts, composes }) => [texts, composes]),
    [
      [3, true],
      [1, true],
    ],
  );
});

t.test('a text that is too slow starts again on slower threads; in the end it is text for all', async (t) => {
  const { feed, html, preview, tasks, last } = renderer();
  const asked = feed(['a', '<b>', 'c']);
  (await last()).render('<p>a</p>', undefined, '<p>c</p>');
  (await last()).render(undefined);
  (await last()).render(undefined);
  t.strictSame(htmlOf(await asked), ['<p>a</p>', '<pre>&lt;b&gt;</pre>', '<p>c</p>']);
  t.equal((await asked).isComplete, true);
  t.strictSame(
    tasks.map(({ pool, texts }) => [pool, texts]),
    [
      ['parsing', 3],
      ['slowParsing', 1],
      ['slowestParsing', 1],
    ],
  );
  t.equal(await html('<b>', 'another feed'), '<pre>&lt;b&gt;</pre>');
  t.equal(await preview('<b>'), '<pre>&lt;b&gt;</pre>');
  t.equal(tasks.length, 3);
  const slow = async (read: Promise<RenderedFeed>) => (await read).task.document.notes.at(1)?.rendered;
  t.equal(await slow(feed(['a', '<b>'])), await slow(asked), 'it is escaped once');
});

t.test('a long text starts on slower threads, so that short ones do not wait for it', async (t) => {
  const { html, last } = renderer();
  const asked = html('a'.repeat(20_000));
  t.equal((await last()).pool, 'slowParsing');
  (await last()).render('<p>a</p>');
  t.equal(await asked, '<p>a</p>');
});

for (const [what, cause] of [
  ['time', new TaskTimeout({ ms: 1, counts: 'cpu time' })],
  ['memory', Object.assign(new Error('Out of memory'), { code: 'ERR_WORKER_OUT_OF_MEMORY' })],
  ['stack', new RangeError('Maximum call stack size exceeded')],
] as const)
  t.test(`a text that ends its thread by its need of ${what} is too slow as well`, async (t) => {
    const { html, feed, tasks, last } = renderer();
    const asked = feed(['<a>', 'b']);
    (await last()).reject(cause);
    (await last()).reject(cause);
    (await last()).render('<p>b</p>');
    (await last()).reject(cause);
    t.strictSame(htmlOf(await asked), ['<pre>&lt;a&gt;</pre>', '<p>b</p>']);
    t.equal(await html('<a>'), '<pre>&lt;a&gt;</pre>');
    t.equal(tasks.length, 4);
  });

t.test('a thread that died says nothing of the text: who asked goes without', async (t) => {
  const warnings = t.capture(process, 'emitWarning');
  const { html, tasks, last } = renderer();
  const [first, second] = [html('a'), html('a')];
  (await last()).reject(new Error('The thread died.'));
  t.equal(await first, undefined);
  t.match(warnings(), [{ args: [/The thread died\./] }], 'the reason is told');
  (await last()).render('<p>a</p>');
  t.equal(await second, '<p>a</p>', 'the next tries again');
  t.equal(tasks.length, 2);
});

t.test('a refusal is told to who met it; the next tries again', async (t) => {
  const { html, last } = renderer();
  const [first, second] = [html('a'), html('a')];
  (await last()).reject(new Refusal('busy', 'Busy.'));
  await t.rejects(first, { code: 'busy' });
  (await last()).render('<p>a</p>');
  t.equal(await second, '<p>a</p>');
});

const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

t.test('readers wait for usual texts as long as it takes, for the slowest not for long', async (t) => {
  const { html, feed, tasks, last } = renderer({ patienceMs: SHORT });
  const before = timers();
  const asked = feed(['a', '<b>']);
  await settle();
  t.equal(timers(), before, 'nothing ends the waiting');
  (await last()).render('<p>a</p>', undefined);
  (await last()).render(undefined);
  t.strictSame(htmlOf(await asked), ['<p>a</p>', '<pre>&lt;b&gt;</pre>']);
  t.equal((await asked).isComplete, false);
  t.equal(timers(), before);
  (await last()).render('<p>b</p>');
  await settle();
  t.equal(await html('<b>'), '<p>b</p>', 'it is rendered for the next');
  t.equal(tasks.length, 3);
});

t.test('of the slowest texts, only what somebody waits for is begun', async (t) => {
  const { html, feed, tasks, last } = renderer({ patienceMs: SHORT });
  const asked = feed(['a', 'b']);
  (await last()).render(undefined, undefined);
  (await last()).render(undefined);
  (await last()).render(undefined);
  t.equal((await asked).isComplete, false);
  const waiting = html('b');
  t.equal(await waiting, undefined, 'it waits for its turn');
  tasks[3]!.render('<p>a</p>');
  await settle();
  t.equal(tasks.length, 4, 'nobody waits any more');
  const next = html('b');
  (await last()).render('<p>b</p>');
  await next;
  t.equal(await html('b'), '<p>b</p>', 'it was tried for the next');
});

t.test(
  'the slow texts of a feed hold one reader for a while, and the next finds out about the others',
  async (t) => {
    const { feed, tasks, last } = renderer();
    const texts = Array.from({ length: 6 }, (_, n) => `${n}`);
    const first = feed(texts);
    (await last()).render(...texts.map(() => undefined));
    for (let n = 0; n < 8; n++) (await last()).render(undefined);
    t.equal((await first).isComplete, false);
    t.equal(tasks.length, 9, 'four of them are tried twice more');
    const second = feed(texts);
    for (const text of ['4', '5']) (await last()).render(`<p>${text}</p>`);
    t.strictSame(htmlOf(await second), [
      ...['0', '1', '2', '3'].map((text) => `<pre>${text}</pre>`),
      ...['4', '5'].map((text) => `<p>${text}</p>`),
    ]);
    t.equal((await second).isComplete, true);
  },
);

t.test('the same text twice in a feed is found to be slow once', async (t) => {
  const { feed, tasks, last } = renderer();
  const asked = feed(['a', 'a']);
  (await last()).render(undefined, undefined);
  (await last()).render(undefined);
  (await last()).render(undefined);
  t.strictSame(htmlOf(await asked), ['<pre>a</pre>', '<pre>a</pre>']);
  t.equal(tasks.length, 3);
});

t.test('a preview is not kept, but uses what is', async (t) => {
  const { html, preview, tasks, last } = renderer();
  for (const n of [1, 2]) {
    const asked = preview('a');
    (await last()).render(`<p>${n}</p>`);
    t.equal(await asked, `<p>${n}</p>`);
  }
  const asked = html('a');
  (await last()).render('<p>3</p>');
  await asked;
  t.equal(await preview('a'), '<p>3</p>');
  t.equal(tasks.length, 3);
});

t.test('a preview that nobody waits for is ended, and starts nowhere again', async (t) => {
  const { preview, tasks, last } = renderer();
  const gone = new AbortController();
  const asked = preview('a', gone.signal);
  const { signal, reject } = await last();
  const next = preview('b');
  await settle();
  t.equal(tasks.length, 1, 'those of one client take turns');
  const reason = new Error('The client has gone.');
  gone.abort(reason);
  t.equal(signal?.aborted, true);
  reject(reason);
  await t.rejects(asked, reason);
  (await last()).render('<p>b</p>');
  t.equal(await next, '<p>b</p>');
  t.equal(tasks.length, 2);
});

t.test('short texts are rendered at once, without a thread, and kept', async (t) => {
  const { real, tasks } = renderer();
  const task = feedOf(['*a*', '[b](x)'], 'read-id', 'https://x.example');
  const first = await real.render(task);
  t.strictSame(htmlOf(first), ['<p><em>a</em></p>\n', '<p><a href="https://x.example/x">b</a></p>\n']);
  t.equal(first.isComplete, true);
  t.equal((await real.render(task)).task.document.notes[0]!.rendered, first.task.document.notes[0]!.rendered);
  t.equal(tasks.length, 0);
});

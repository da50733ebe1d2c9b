import t, { type Test } from 'tap';
import type { ReadId } from '../../src/feeds/names.ts';
import type { Rendered } from '../../src/read/note-text.ts';
import { type RenderedFeed, Renderer, type RenderOptions } from '../../src/read/renderer.ts';
import type { FeedTask } from '../../src/read/views/compose.ts';
import { Refusal } from '../../src/refusals.ts';
import { TaskTimeout, type WorkerPool } from '../../src/worker-pool.ts';
import type { UnrenderedTexts } from '../../workers/render-texts.ts';
import { feedDocument, unrenderedNote } from '../support/view-notes.ts';

/** A time that no test sees. */
const LATER = 1e9;

/** A pool whose tasks end when the test says so. */
class HeldPool {
  readonly tasks: (UnrenderedTexts & {
    /** Resolves the task with this HTML for its texts. */
    render: (...html: string[]) => void;
    reject: (cause: unknown) => void;
  })[] = [];

  run(_work: string, task: UnrenderedTexts): Promise<readonly Rendered[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Rendered[]>();
    const render = (...html: string[]) => resolve(html.map((one) => ({ html: one, excerpt: '' })));
    this.tasks.push({ ...task, render, reject });
    return promise;
  }
}

/** A text of this many characters is rendered on a thread. */
const LONG = 400;

/** A feed of these texts at an address; spaces make each long. */
const feedOf = (texts: readonly string[], base: string, readId?: string): FeedTask => ({
  view: 'rss',
  document: {
    ...feedDocument(texts.map((text) => unrenderedNote(text.padEnd(LONG)))),
    base,
    ...(readId && { readId: readId as ReadId }),
  },
});

const htmlOf = ({ task }: RenderedFeed) =>
  task.document.notes.map(({ rendered }) => rendered?.html.replace(/ +(?=<)/, ''));

function renderer(keepBytes = 100_000): {
  feed: (
    texts: readonly string[],
    options?: Partial<RenderOptions> & { readonly readId?: string },
  ) => Promise<RenderedFeed>;
  html: (text: string, base: string, until?: number, keep?: boolean) => Promise<string | undefined>;
  pool: HeldPool;
} {
  const pool = new HeldPool();
  const real = new Renderer(pool as unknown as WorkerPool, keepBytes);
  return {
    feed: (texts, { readId, ...options } = {}) =>
      real.render(feedOf(texts, 'base', readId), { until: LATER, keep: true, ...options }),
    html: async (text, base, until = LATER, keep = true) => {
      const rendered = await real.render(feedOf([text], base), { until, keep });
      return rendered.isComplete ? htmlOf(rendered)[0] : undefined;
    },
    pool,
  };
}

/** Lets everything run that waits for nothing but its turn. */
const settle = () => new Promise(setImmediate);

t.test('a text is rendered once for all who ask', async (t) => {
  const { html, pool } = renderer();
  const asked = Array.from({ length: 5 }, () => html('a', 'base'));
  await settle();
  t.equal(pool.tasks.length, 1);
  pool.tasks[0]!.render('<p>a</p>');
  t.strictSame(new Set(await Promise.all(asked)), new Set(['<p>a</p>']));
  t.equal(await html('a', 'base'), '<p>a</p>');
  t.equal(pool.tasks.length, 1, 'and kept');
});

t.test('what must take no room is not kept', async (t) => {
  const { html, pool } = renderer();
  for (const keep of [false, true, false]) {
    const asked = html('a', 'base', LATER, keep);
    await settle();
    pool.tasks.at(-1)!.render('<p>a</p>');
    t.equal(await asked, '<p>a</p>');
  }
  t.equal(pool.tasks.length, 2, 'what another has kept is used');
});

t.test('different feeds do not wait for each other', async (t) => {
  const { feed, pool } = renderer();
  const asked = ['one', 'two'].map((readId) => feed([readId], { readId }));
  await settle();
  t.equal(pool.tasks.length, 2);
  for (const task of pool.tasks) task.render('<p></p>');
  await Promise.all(asked);
});

t.test('a text holds one thread, whatever addresses it is rendered for', async (t) => {
  const { html, pool } = renderer();
  const asked = ['one', 'two', 'three'].map((base) => html('a', base));
  for (const [index, base] of ['one', 'two', 'three'].entries()) {
    await settle();
    t.equal(pool.tasks.length, index + 1);
    pool.tasks[index]!.render(`<p>${base}</p>`);
  }
  t.strictSame(await Promise.all(asked), ['<p>one</p>', '<p>two</p>', '<p>three</p>']);
});

for (const [what, cause] of [
  ['time', new TaskTimeout({ ms: 1, counts: 'cpu time' })],
  ['memory', Object.assign(new Error('Out of memory'), { code: 'ERR_WORKER_OUT_OF_MEMORY' })],
  ['stack', new RangeError('Maximum call stack size exceeded')],
] as const)
  t.test(`a text that ran out of ${what} is text for all who wait, and for all who come`, async (t) => {
    const { html, pool } = renderer();
    const asked = ['one', 'two', 'one'].map((base) => html('<a>', base));
    await settle();
    pool.tasks[0]!.reject(cause);
    t.strictSame(new Set(await Promise.all(asked)), new Set(['<pre>&lt;a&gt;</pre>']));
    t.equal(await html('<a>', 'three'), '<pre>&lt;a&gt;</pre>');
    t.equal(pool.tasks.length, 1);
  });

t.test(
  'a thread that died says nothing of the text: who asked goes without, the next tries again',
  async (t) => {
    const warnings = t.capture(process, 'emitWarning');
    const { html, pool } = renderer();
    const [first, second] = [html('a', 'base'), html('a', 'base')];
    await settle();
    pool.tasks[0]!.reject(new Error('The thread died.'));
    t.equal(await first, undefined);
    t.match(warnings(), [{ args: [/The thread died\./] }], 'the reason is told');
    await settle();
    pool.tasks[1]!.render('<p>a</p>');
    t.equal(await second, '<p>a</p>');
  },
);

t.test('a refusal is told to who met it; the next tries again', async (t) => {
  const { html, pool } = renderer();
  const [first, second] = [html('a', 'base'), html('a', 'base')];
  await settle();
  pool.tasks[0]!.reject(new Refusal('busy', 'Busy.'));
  await t.rejects(first, { code: 'busy' });
  await settle();
  pool.tasks[1]!.render('<p>a</p>');
  t.equal(await second, '<p>a</p>');
});

/** In 5 ms, where the clock stands still. */
const SOON = 5;
/** Time stands still, as long as anything may take to begin; timers go on. */
const stopClock = (t: Test) => t.intercept(performance, 'now', { value: () => 0 });

const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

t.test('who asked is told in time that a text is not rendered yet; it is, later', async (t) => {
  stopClock(t);
  const { html, pool } = renderer();
  t.equal(await html('a', 'base', SOON), undefined);
  t.equal(pool.tasks.length, 1);
  pool.tasks[0]!.render('<p>a</p>');
  await settle();
  t.equal(await html('a', 'base', 0), '<p>a</p>', 'known at once, however late it is');
  t.equal(pool.tasks.length, 1);
});

t.test('what nobody waits for any more is not begun', async (t) => {
  stopClock(t);
  const { html, pool } = renderer();
  t.equal(await html('a', 'base', 0), undefined);
  t.equal(pool.tasks.length, 0);
  const asked = ['one', 'two', 'three'].map((base) => html('a', base, SOON));
  t.strictSame(await Promise.all(asked), [undefined, undefined, undefined]);
  pool.tasks[0]!.render('<p>one</p>');
  await settle();
  t.equal(pool.tasks.length, 1);
  const last = html('a', 'four');
  await settle();
  pool.tasks[1]!.render('<p>four</p>');
  t.equal(await last, '<p>four</p>', 'and stands in the way of nobody');
});

t.test('waiting leaves no timer behind, and a late failure harms nobody', async (t) => {
  stopClock(t);
  const { html, pool } = renderer();
  const before = timers();
  const asked = html('a', 'base');
  t.equal(timers(), before + 1);
  await settle();
  pool.tasks[0]!.render('<p>a</p>');
  await asked;
  t.equal(timers(), before);
  t.equal(await html('b', 'base', SOON), undefined);
  pool.tasks[1]!.reject(new Refusal('busy', 'Busy.'));
  await settle();
  t.equal(timers(), before);
});

t.test('the notes of a feed are one task', async (t) => {
  const { feed, pool } = renderer();
  const asked = feed(['a', 'b', 'c']);
  await settle();
  pool.tasks[0]!.render('<p>a</p>', '<p>b</p>', '<p>c</p>');
  t.strictSame(htmlOf(await asked), ['<p>a</p>', '<p>b</p>', '<p>c</p>']);
  t.strictSame(htmlOf(await feed(['c', 'b', 'a'])), ['<p>c</p>', '<p>b</p>', '<p>a</p>']);
  t.equal(pool.tasks.length, 1);
});

t.test('texts that take too long together are rendered alone, to find the one to blame', async (t) => {
  const { feed, pool } = renderer();
  const tooLong = new TaskTimeout({ ms: 1, counts: 'cpu time' });
  const asked = feed(['a', '<b>', 'c']);
  await settle();
  pool.tasks[0]!.reject(tooLong);
  await settle();
  pool.tasks[1]!.render('<p>a</p>');
  await settle();
  pool.tasks[2]!.reject(tooLong);
  await settle();
  pool.tasks[3]!.render('<p>c</p>');
  t.strictSame(htmlOf(await asked), ['<p>a</p>', '<pre>&lt;b&gt;</pre>', '<p>c</p>']);
  t.strictSame(htmlOf(await feed(['<b>'])), ['<pre>&lt;b&gt;</pre>']);
  t.equal(pool.tasks.length, 4);
});

t.test('a feed that takes too long together gets rendered, however late each thread answers', async (t) => {
  stopClock(t);
  const { feed, pool } = renderer();
  const tooLong = new TaskTimeout({ ms: 1, counts: 'cpu time' });
  for (const [n, text] of ['a', 'b'].entries()) {
    t.equal((await feed(['a', 'b', 'c'], { until: SOON })).isComplete, false);
    pool.tasks[2 * n]!.reject(tooLong);
    await settle();
    pool.tasks[2 * n + 1]!.render(`<p>${text}</p>`);
    await settle();
  }
  t.equal(pool.tasks.length, 4);
  const last = feed(['a', 'b', 'c']);
  await settle();
  pool.tasks[4]!.render('<p>c</p>');
  t.strictSame(htmlOf(await last), ['<p>a</p>', '<p>b</p>', '<p>c</p>']);
});

t.test('the same text twice in a feed is found to be slow once', async (t) => {
  const { feed, pool } = renderer();
  const asked = feed(['a', 'a']);
  for (const index of [0, 1]) {
    await settle();
    pool.tasks[index]!.reject(new TaskTimeout({ ms: 1, counts: 'cpu time' }));
  }
  t.strictSame(htmlOf(await asked), ['<pre>a</pre>', '<pre>a</pre>']);
  t.equal(pool.tasks.length, 2);
});

t.test('views of one feed wait for each other', async (t) => {
  const { feed, pool } = renderer();
  const asked = [feed(['a', 'b']), feed(['b', 'c']), feed(['d'], { readId: 'other' })];
  await settle();
  t.equal(pool.tasks.length, 2, 'but not those of another');
  pool.tasks[0]!.render('<p>a</p>', '<p>b</p>');
  pool.tasks[1]!.render('<p>d</p>');
  await settle();
  t.equal(pool.tasks.length, 3);
  pool.tasks[2]!.render('<p>c</p>');
  t.strictSame(htmlOf((await Promise.all(asked))[1]!), ['<p>b</p>', '<p>c</p>']);
});

t.test('what is not known in time is shown as its text', async (t) => {
  stopClock(t);
  const { feed, pool } = renderer();
  const known = feed(['a']);
  await settle();
  pool.tasks[0]!.render('<p>a</p>');
  await known;
  const { isComplete, ...rendered } = await feed(['a', 'b'], { until: SOON });
  t.strictSame(htmlOf({ isComplete, ...rendered }), ['<p>a</p>', '<pre>b</pre>']);
  t.equal(isComplete, false);
  t.equal(pool.tasks.length, 2);
});

t.test('short texts are rendered at once, without a thread, and kept', async (t) => {
  const pool = new HeldPool();
  const real = new Renderer(pool as unknown as WorkerPool, 100_000);
  const notes = ['*a*', '[b](x)'].map((text) => unrenderedNote(text));
  const task: FeedTask = { view: 'rss', document: { ...feedDocument(notes), base: 'https://x.example' } };
  const first = await real.render(task, { until: LATER, keep: true });
  t.match(htmlOf(first), [
    '<p><em>a</em></p>\n',
    /^<p><a href="https:\/\/x\.example\/r\/[^"]+\/x">b<\/a><\/p>\n$/,
  ]);
  t.equal(first.isComplete, true);
  t.strictSame(htmlOf(await real.render(task, { until: 0, keep: true })), htmlOf(first));
  t.equal(pool.tasks.length, 0);
});

t.test('no texts that could hold the event loop for longer are short', async (t) => {
  const quotes = Array.from({ length: 23 }, (_, i) => `${'>'.repeat(22 - i)}a`).join('\n');
  for (const texts of [
    ['_a*'.repeat(106)],
    Array.from({ length: 50 }, (_, n) => `${n}`.padEnd(45, '_a*')),
    [quotes],
    [`- ${quotes.replaceAll('\n', '\n  ')}`],
    ['- - - - a'],
    ['- a\n  - b'],
    ['1. a\n   2) b'],
    ['- =\n='],
    ['a\tb'],
  ]) {
    const pool = new HeldPool();
    const notes = texts.map((text) => unrenderedNote(text));
    const task: FeedTask = { view: 'rss', document: feedDocument(notes) };
    const asked = new Renderer(pool as unknown as WorkerPool, 1).render(task, { until: LATER, keep: true });
    await settle();
    t.equal(pool.tasks.length, 1, texts[0]!.slice(0, 40));
    pool.tasks[0]!.render(...texts);
    await asked;
  }
});

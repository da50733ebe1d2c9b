import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { UnrenderedTexts } from '../../workers/render-texts.ts';
import { filesUrl } from '../feeds/urls.ts';
import { KeyedLimit } from '../keyed-limit.ts';
import { Refusal } from '../refusals.ts';
import type { TaskLimit } from '../task-limit.ts';
import { ranOutOfMemory, TaskTimeout, type WorkerPool } from '../worker-pool.ts';
import { renderNote } from './note-html.ts';
import { type Rendered, unrendered } from './note-text.ts';
import { type FeedTask, withNotes } from './views/compose.ts';

/** Limit of a note's rendering; beyond it readers get its text. */
const LIMIT: TaskLimit = { ms: 2_000, counts: 'cpu time' };
/** Limit of rendering all texts of a feed in one task; beyond it each gets a task of its own. */
const TOGETHER_LIMIT: TaskLimit = { ms: 500, counts: 'cpu time' };
/**
 * Up to this sum of the squares of their lengths, in bytes², texts are rendered on the event loop, which takes less than
 * the trip to a thread. marked takes 30 ns per byte² for its worst text, so 3 ms for these, and usually 0.3 ms.
 */
const INLINE_MAX_SQUARES = 100_000;
/**
 * Block quotes, nested lists and long gaps, for which marked's time grows exponentially or by a high power: 300 bytes of them
 * take minutes. (Lines of `=` are headings below a paragraph, tried at each item of a list.)
 */
const NESTING =
  /^[^\S\n]*>|^[^\S\n]*(?:[-*+]|\d+[.)])[^\S\n]*(?:[-*+>=]|\d+[.)]|$)|^[^\S\n]+(?:[-*+]|\d+[.)])|^[^\S\n]*=|[^\S\n]{5}|\t/m;
/** Notes beyond the limit that are remembered, so that no reader waits for them again. */
const REMEMBERED_SLOW = 10_000;

export interface RenderOptions {
  /** The caller waits until this time of `performance.now()`. */
  readonly until: number;
  /** Whether the HTML may be cached. */
  readonly keep: boolean;
}

/** A feed with all its notes rendered or shown as text. */
export interface RenderedFeed {
  readonly task: FeedTask;
  /** False if a note is shown as text that a later request may get rendered. */
  readonly isComplete: boolean;
}

/** The text of a note in a feed. */
interface Text {
  readonly content: Uint8Array;
  readonly sha256: string;
  /** What relative references are relative to, with a slash at its end. */
  readonly base: string;
  rendered: Rendered | undefined;
}

/** Renders each note's markdown once: short texts on the event loop, others on worker threads. */
export class Renderer {
  readonly #pool: WorkerPool;
  /** By hash and base, because relative references depend on the base. */
  readonly #rendered: LRUCache<string, Rendered>;
  readonly #slow = new LRUCache<string, true>({ max: REMEMBERED_SLOW });
  /** By read id: a slow text in many views of its feed would hold every thread. */
  readonly #turns = new KeyedLimit(1);

  /** @param keepBytes size of the cache of rendered HTML, in bytes */
  constructor(pool: WorkerPool, keepBytes: number) {
    this.#pool = pool;
    this.#rendered = new LRUCache({
      maxSize: Math.max(1, keepBytes),
      sizeCalculation: ({ html, excerpt, text = '' }, key) =>
        2 * (html.length + excerpt.length + text.length + key.length) + 200,
    });
  }

  /**
   * The feed with its notes rendered, by one thread at a time. A note is shown as text in a `<pre>` if its rendering exceeds
   * its CPU or memory limit, if its thread dies, or if it is not rendered by `until`.
   * @throws Refusal `busy` if too many tasks wait
   */
  async render(task: FeedTask, { until, keep }: RenderOptions): Promise<RenderedFeed> {
    const { notes, base: address, readId } = task.document;
    const base = filesUrl(address, readId);
    const texts = notes.map(({ content }): Text | undefined => {
      if (content === undefined) return undefined;
      const text = { content, base, sha256: keyOfText(content), rendered: undefined };
      return { ...text, rendered: this.#known(text) };
    });
    const missing = texts.filter((text) => text !== undefined && text.rendered === undefined) as Text[];
    const left = until - performance.now();
    if (areCheap(missing)) for (const text of missing) this.#keep(text, renderNote(text.content, base), keep);
    else if (left > 0) {
      const over = new AbortController();
      try {
        const rendering = this.#turns.run(readId, () => this.#renderOnThreads(missing, keep, over.signal));
        await Promise.race([rendering, wait(left, undefined, { signal: over.signal })]);
      } finally {
        over.abort();
      }
    }
    const shown = notes.map((note, n) =>
      note.content ? { ...note, rendered: texts[n]!.rendered ?? unrendered(note.content) } : note,
    );
    return {
      task: withNotes(task, shown),
      isComplete: missing.every(({ rendered }) => rendered !== undefined),
    };
  }

  /**
   * A text by itself, not cached; in a `<pre>` if its rendering exceeds the limit.
   * @param base what relative references are relative to, with a slash at its end
   * @throws Refusal `busy`
   */
  async text(content: Uint8Array, base: string): Promise<Rendered> {
    const text = { content, base, sha256: keyOfText(content), rendered: undefined };
    return this.#slow.has(text.sha256) ? unrendered(content) : this.#renderAlone(text);
  }

  #known({ content, base, sha256 }: Text): Rendered | undefined {
    return this.#slow.has(sha256) ? unrendered(content) : this.#rendered.get(`${sha256} ${base}`);
  }

  #keep(text: Text, rendered: Rendered, keep: boolean): void {
    text.rendered = rendered;
    if (keep) this.#rendered.set(`${text.sha256} ${text.base}`, rendered);
  }

  /**
   * After the signal no text is begun, but for the first of those that were too slow together, so that each call gets on.
   * If a thread dies, the texts that are left stay unrendered.
   */
  async #renderOnThreads(texts: readonly Text[], keep: boolean, over: AbortSignal): Promise<void> {
    for (const text of texts) text.rendered = this.#known(text);
    const missing = texts.filter(({ rendered }) => rendered === undefined);
    if (missing.length === 0 || over.aborted) return;
    try {
      const together = missing.length > 1 ? await this.#renderTogether(missing) : undefined;
      for (const [n, text] of missing.entries()) {
        // It may have the text of one before.
        const rendered = together?.[n] ?? this.#known(text);
        if (rendered) this.#keep(text, rendered, keep);
        else if (n === 0 || !over.aborted) this.#keep(text, await this.#renderAlone(text), keep);
      }
    } catch (cause) {
      if (cause instanceof Refusal) throw cause;
      process.emitWarning(`A feed was not rendered: ${cause}`);
    }
  }

  /** Undefined if the texts reach the limit together. */
  async #renderTogether(texts: readonly Text[]): Promise<readonly Rendered[] | undefined> {
    try {
      return await this.#run(texts, TOGETHER_LIMIT);
    } catch (cause) {
      if (hasReachedLimit(cause)) return undefined;
      throw cause;
    }
  }

  async #renderAlone(text: Text): Promise<Rendered> {
    try {
      return (await this.#run([text], LIMIT))[0]!;
    } catch (cause) {
      if (!hasReachedLimit(cause)) throw cause;
      this.#slow.set(text.sha256, true);
      return unrendered(text.content);
    }
  }

  async #run(texts: readonly Text[], limit: TaskLimit): Promise<readonly Rendered[]> {
    // Copies, because the whole buffer of each is sent to the thread.
    const contents = texts.map(({ content }) => new Uint8Array(content));
    const task: UnrenderedTexts = { contents, base: texts[0]!.base };
    return (await this.#pool.run('render-texts', task, { limit })) as Rendered[];
  }
}

function hasReachedLimit(cause: unknown): boolean {
  return cause instanceof TaskTimeout || ranOutOfMemory(cause);
}

/** Whether marked is quick with these texts, whatever they hold. */
function areCheap(texts: readonly Text[]): boolean {
  let squares = 0;
  for (const { content } of texts) squares += content.length ** 2;
  return (
    squares <= INLINE_MAX_SQUARES &&
    texts.every(({ content }) => !NESTING.test(Buffer.from(content).toString('latin1')))
  );
}

function keyOfText(content: Uint8Array): string {
  return hash('sha256', content, 'base64url');
}

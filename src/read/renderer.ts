import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ComposedFeed, UnrenderedFeed } from '../../workers/compose-feed.ts';
import { filesUrl } from '../feeds/urls.ts';
import { Refusal } from '../refusals.ts';
import type { TaskLimit } from '../task-limit.ts';
import { ranOutOfMemory, TaskTimeout, type WorkerPool } from '../worker-pool.ts';
import { renderNote } from './note-html.ts';
import { type Rendered, unrendered } from './note-text.ts';
import { type Composed, type FeedTask, sendable, withNotes } from './views/compose.ts';
import type { FeedDocument, ViewNote } from './views/document.ts';

/** Limit of a note's rendering; beyond it readers get its text. */
const LIMIT: TaskLimit = { ms: 2_000, counts: 'cpu time' };
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
  /** Undefined if the task has to be composed. */
  readonly composed: Composed | undefined;
  /** False if a note is shown as text that a later request may get rendered. */
  readonly isComplete: boolean;
}

/** The rendering of a feed. */
interface RenderJob {
  readonly task: FeedTask;
  /** Those of the task, as far as they are rendered. */
  readonly notes: ViewNote[];
  /** Of the notes' texts. */
  readonly hashes: readonly string[];
  composed: Composed | undefined;
}

/** Renders each note's markdown once: short texts on the event loop, others on worker threads. */
export class Renderer {
  readonly #pool: WorkerPool;
  readonly #rendered: LRUCache<string, Rendered>;
  readonly #slow = new LRUCache<string, true>({ max: REMEMBERED_SLOW });
  /** The last rendering queued for a text, by the text's hash. */
  readonly #lastOf = new Map<string, Promise<void>>();

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
   * The feed with its notes rendered, by one task that also composes it if no note is slow. A note is shown as text in a
   * `<pre>` if its rendering exceeds its CPU or memory limit, if its thread dies, or if it is not rendered by `until`. No
   * rendering starts after `until`.
   * @throws Refusal `busy` if too many tasks wait
   */
  async render(task: FeedTask, { until, keep }: RenderOptions): Promise<RenderedFeed> {
    const notes = [...task.document.notes];
    const hashes = notes.map(({ content }) => (content ? keyOfText(content) : ''));
    const job: RenderJob = { task, notes, hashes, composed: undefined };
    const missing = this.#findMissing(job);
    const left = until - performance.now();
    if (areCheap(missing, notes)) this.#renderHere(job, missing, keep);
    else if (left > 0) {
      let isAwaited = true;
      const rendering = this.#inTurn(new Set(missing.map((index) => hashes[index]!)), async () => {
        while (isAwaited && (await this.#renderSome(job, keep)));
      });
      const end = Promise.withResolvers<void>();
      const timer = setTimeout(end.resolve, left);
      try {
        await Promise.race([rendering, end.promise]);
      } finally {
        isAwaited = false;
        clearTimeout(timer);
      }
    }
    const isComplete = job.composed !== undefined || this.#findMissing(job).length === 0;
    const shown = notes.map((note) =>
      note.content && !note.rendered ? { ...note, rendered: unrendered(note.content) } : note,
    );
    return { task: withNotes(task, shown), composed: job.composed, isComplete };
  }

  /**
   * A text by itself, not cached; in a `<pre>` if its rendering exceeds the limit.
   * @param base what relative references are relative to, with a slash at its end
   * @throws Refusal `busy`
   */
  async text(content: Uint8Array, base: string): Promise<Rendered> {
    const key = keyOfText(content);
    if (this.#slow.has(key)) return unrendered(content);
    try {
      return (await this.#pool.run('render-text', { content, base }, { limit: LIMIT })) as Rendered;
    } catch (cause) {
      if (!(cause instanceof TaskTimeout || ranOutOfMemory(cause))) throw cause;
      this.#slow.set(key, true);
      return unrendered(content);
    }
  }

  /** Fills in the notes that are known; returns the indexes of the others. */
  #findMissing({ task, notes, hashes }: RenderJob): number[] {
    return [...notes.keys()].filter((index) => {
      const note = notes[index]!;
      if (note.content === undefined || note.rendered !== undefined) return false;
      const hash = hashes[index]!;
      const rendered = this.#slow.has(hash)
        ? unrendered(note.content)
        : this.#rendered.get(keyOf(hash, task.document));
      if (rendered !== undefined) notes[index] = { ...note, rendered };
      return rendered === undefined;
    });
  }

  #renderHere(job: RenderJob, missing: readonly number[], keep: boolean): void {
    const { base, readId } = job.task.document;
    for (const index of missing) {
      const rendered = renderNote(job.notes[index]!.content!, filesUrl(base, readId));
      this.#addRendered(job, index, rendered, keep);
    }
  }

  #addRendered({ task, notes, hashes }: RenderJob, index: number, rendered: Rendered, keep: boolean): void {
    notes[index] = { ...notes[index]!, rendered };
    if (keep) this.#rendered.set(keyOf(hashes[index]!, task.document), rendered);
  }

  /** Renders each text once at a time, because a slow one in many views would hold every thread. */
  #inTurn(hashes: ReadonlySet<string>, render: () => Promise<void>): Promise<void> {
    const before = new Set([...hashes].flatMap((hash) => this.#lastOf.get(hash) ?? []));
    const rendering = before.size === 0 ? render() : Promise.allSettled(before).then(render);
    for (const hash of hashes) this.#lastOf.set(hash, rendering);
    const forget = () => {
      for (const hash of hashes) if (this.#lastOf.get(hash) === rendering) this.#lastOf.delete(hash);
    };
    rendering.then(forget, forget);
    return rendering;
  }

  /** Runs one task: some notes are rendered, or one is found to be slow. False if nothing is left, or the thread died. */
  async #renderSome(job: RenderJob, keep: boolean): Promise<boolean> {
    const { task, notes, hashes } = job;
    const missing = this.#findMissing(job);
    if (missing.length === 0) return false;
    const at = new Int32Array(new SharedArrayBuffer(4));
    const feed: UnrenderedFeed = { task: sendable(withNotes(task, notes)), at };
    try {
      const { rendered, composed } = (await this.#pool.run('compose-feed', feed, {
        limit: LIMIT,
      })) as ComposedFeed;
      for (const [nth, result] of rendered.entries()) this.#addRendered(job, missing[nth]!, result, keep);
      job.composed = composed;
      return composed === undefined;
    } catch (cause) {
      if (cause instanceof Refusal) throw cause;
      if (!(cause instanceof TaskTimeout || ranOutOfMemory(cause))) {
        process.emitWarning(`A feed was not rendered: ${cause}`);
        return false;
      }
      // It would reach its limit again.
      this.#slow.set(hashes[Atomics.load(at, 0)]!, true);
      return true;
    }
  }
}

/** Whether marked is quick with these notes' texts, whatever they hold. */
function areCheap(missing: readonly number[], notes: readonly ViewNote[]): boolean {
  let squares = 0;
  for (const index of missing) squares += notes[index]!.content!.length ** 2;
  return (
    squares <= INLINE_MAX_SQUARES &&
    missing.every((index) => !NESTING.test(Buffer.from(notes[index]!.content!).toString('latin1')))
  );
}

function keyOfText(content: Uint8Array): string {
  return hash('sha256', content, 'base64url');
}

/** The HTML depends on the feed's address, because of relative references. */
function keyOf(hash: string, { base, readId }: FeedDocument): string {
  return `${hash} ${filesUrl(base, readId)}`;
}

import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ComposedFeed, UnrenderedFeed } from '../../workers/compose-feed.ts';
import { filesUrl } from '../feeds/urls.ts';
import { Refusal } from '../refusals.ts';
import type { TaskLimit } from '../task-limit.ts';
import { ranOutOfMemory, TaskTimeout, type WorkerPool } from '../worker-pool.ts';
import { renderNote } from './note-html.ts';
import { type Rendered, unrendered } from './unrendered.ts';
import { type Composed, type FeedTask, sendable, withNotes } from './views/compose.ts';
import type { FeedDocument, ViewNote } from './views/document.ts';

/** The most a note may take to render, however busy the machine is; beyond it readers get it as plain text. */
const LIMIT: TaskLimit = { ms: 2_000, counts: 'cpu time' };
/**
 * Up to this sum of the squares of their lengths, in bytes², texts are rendered on the event loop, which takes less than
 * the trip to a thread. marked takes 30 ns per byte² for its worst text, so 3 ms for these; for usual ones 0.3 ms.
 */
const INLINE_MAX_SQUARES = 100_000;
/** How many notes that took too much are remembered, so that no reader waits for them again. */
const REMEMBERED_SLOW = 10_000;

/** How notes are asked for. */
export interface RenderOptions {
  /** Nobody waits for them any more from then on, a time of `performance.now()`. */
  readonly until: number;
  /** False for HTML that must not take room. */
  readonly keep: boolean;
}

/** A feed with all its notes rendered, or shown as their text. */
export interface RenderedFeed {
  readonly task: FeedTask;
  /** Undefined if it is still to be composed. */
  readonly composed: Composed | undefined;
  /** Nothing is shown as text only because it took too long this time. */
  readonly isComplete: boolean;
}

/** A feed that is being rendered. */
interface Making {
  readonly task: FeedTask;
  /** Those of the task, with what is rendered of them so far. */
  readonly notes: ViewNote[];
  /** Of each note's text. */
  readonly hashes: readonly string[];
  composed: Composed | undefined;
}

/** Renders markdown on worker threads, each note once. */
export class Renderer {
  readonly #pool: WorkerPool;
  readonly #rendered: LRUCache<string, Rendered>;
  readonly #slow = new LRUCache<string, true>({ max: REMEMBERED_SLOW });
  /** The last rendering asked for of a note, by the note's hash. */
  readonly #lastOf = new Map<string, Promise<void>>();

  /** @param keepBytes how much rendered HTML is kept, in bytes */
  constructor(pool: WorkerPool, keepBytes: number) {
    this.#pool = pool;
    this.#rendered = new LRUCache({
      maxSize: Math.max(1, keepBytes),
      sizeCalculation: ({ html, excerpt, text = '' }, key) =>
        2 * (html.length + excerpt.length + text.length + key.length) + 200,
    });
  }

  /**
   * The feed with its notes rendered, in one task that also composes it if none is slow. The text of a note is in a
   * `<pre>` when rendering it takes too much CPU time or memory, when it is not known by `until`, after which nothing is
   * begun, and when its thread died.
   * @throws Refusal `busy` when too many tasks wait
   */
  async render(task: FeedTask, { until, keep }: RenderOptions): Promise<RenderedFeed> {
    const notes = [...task.document.notes];
    const hashes = notes.map(({ content }) => (content ? keyOfText(content) : ''));
    const making: Making = { task, notes, hashes, composed: undefined };
    const missing = this.#missing(making);
    const left = until - performance.now();
    if (areShort(missing, notes)) this.#renderHere(making, missing, keep);
    else if (left > 0) {
      let isAwaited = true;
      const rendering = this.#inTurn(new Set(missing.map((index) => hashes[index]!)), async () => {
        while (isAwaited && (await this.#renderSome(making, keep)));
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
    const isComplete = making.composed !== undefined || this.#missing(making).length === 0;
    const shown = notes.map((note) =>
      note.content && !note.rendered ? { ...note, rendered: unrendered(note.content) } : note,
    );
    return { task: withNotes(task, shown), composed: making.composed, isComplete };
  }

  /**
   * A text by itself; nothing of it is kept. It is in a `<pre>` when rendering it takes too much.
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

  /** Looks up what is known, and says which notes are not. */
  #missing({ task, notes, hashes }: Making): number[] {
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

  #renderHere(making: Making, missing: readonly number[], keep: boolean): void {
    const { base, readId } = making.task.document;
    for (const index of missing) {
      const rendered = renderNote(making.notes[index]!.content!, filesUrl(base, readId));
      this.#addRendered(making, index, rendered, keep);
    }
  }

  #addRendered({ task, notes, hashes }: Making, index: number, rendered: Rendered, keep: boolean): void {
    notes[index] = { ...notes[index]!, rendered };
    if (keep) this.#rendered.set(keyOf(hashes[index]!, task.document), rendered);
  }

  /** One rendering of a note at a time: a slow one, asked for in many views at once, would hold every thread. */
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

  /** Renders some of the notes, or finds out which one is slow. False if nothing is left to do, or cannot be done. */
  async #renderSome(making: Making, keep: boolean): Promise<boolean> {
    const { task, notes, hashes } = making;
    const missing = this.#missing(making);
    if (missing.length === 0) return false;
    const at = new Int32Array(new SharedArrayBuffer(4));
    const feed: UnrenderedFeed = { task: sendable(withNotes(task, notes)), at };
    try {
      const { rendered, composed } = (await this.#pool.run('compose-feed', feed, {
        limit: LIMIT,
      })) as ComposedFeed;
      for (const [nth, result] of rendered.entries()) this.#addRendered(making, missing[nth]!, result, keep);
      making.composed = composed;
      return composed === undefined;
    } catch (cause) {
      if (cause instanceof Refusal) throw cause;
      if (!(cause instanceof TaskTimeout || ranOutOfMemory(cause))) {
        process.emitWarning(`A feed was not rendered: ${cause}`);
        return false;
      }
      // It would again.
      this.#slow.set(hashes[Atomics.load(at, 0)]!, true);
      return true;
    }
  }
}

/** Whether marked is quick with the texts of these notes, whatever they hold. */
function areShort(missing: readonly number[], notes: readonly ViewNote[]): boolean {
  let squares = 0;
  for (const index of missing) squares += notes[index]!.content!.length ** 2;
  return squares <= INLINE_MAX_SQUARES;
}

function keyOfText(content: Uint8Array): string {
  return hash('sha256', content, 'base64url');
}

/** Relative references make the HTML of a text another one at each address. */
function keyOf(hash: string, { base, readId }: FeedDocument): string {
  return `${hash} ${filesUrl(base, readId)}`;
}

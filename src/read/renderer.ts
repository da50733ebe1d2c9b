import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { ReadId } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import { Refusal } from '../refusals.ts';
import { KeyedLimit, ranOutOfMemory, TaskTimeout, type WorkerPool } from '../worker-pool.ts';
import { unrendered } from './note-html.ts';
import { htmlLength, type Rendered } from './note-text.ts';
import { titlesAtOnce } from './note-title.ts';
import { renderAtOnce } from './render-at-once.ts';
import { type FeedTask, withNotes } from './views/compose.ts';
import type { TitledNote, ViewNote } from './views/document.ts';

/** The pools that render texts, for fast ones first. */
export type RenderingPools = Readonly<Record<'parsing' | 'slowParsing' | 'slowestParsing', WorkerPool>>;

/** A task for a thread that renders. */
export interface UnrenderedTexts {
  /** Markdown in UTF-8. */
  readonly contents: readonly Uint8Array[];
  /** Limit of each text, in ms of CPU. */
  readonly ms: number;
}

/** A kind of task on threads of its own. */
interface Lane {
  readonly pool: keyof RenderingPools;
  /** CPU time of each text, ms. A task takes texts until they have taken as much together. */
  readonly ms: number;
  /** The longest text, bytes. */
  readonly maxBytes: number;
  /** The most texts of a task. */
  readonly maxTexts: number;
  /** The most texts that one reader finds too slow here; the others are for the next. */
  readonly maxSlow: number;
}

/**
 * Each text starts in the first lane that takes its length, and starts again in the next if it takes too long; behind the last
 * lane it is shown as its text. So usual texts wait only for tasks as short as their own, whatever texts others have.
 */
const LANES: readonly Lane[] = [
  { pool: 'parsing', ms: 10, maxBytes: 8 * 1024, maxTexts: 50, maxSlow: Number.POSITIVE_INFINITY },
  { pool: 'slowParsing', ms: 250, maxBytes: Number.POSITIVE_INFINITY, maxTexts: 1, maxSlow: 4 },
  {
    pool: 'slowestParsing',
    ms: 2_000,
    maxBytes: Number.POSITIVE_INFINITY,
    maxTexts: 1,
    maxSlow: Number.POSITIVE_INFINITY,
  },
];
const LAST_LANE = LANES.length - 1;
/**
 * How long a reader waits for texts in the last lane, ms. In the others, readers wait as long as it takes, because usual texts
 * must never be shown as text. So the texts of a feed hold its readers for 1 s of CPU each in the second lane, and this time.
 */
const PATIENCE_MS = 4_000;
/** CPU time after which the thread is ended, ms. Texts are ended by then, but for a few that the parser never returns from. */
const HARD_LIMIT_MS = 300;
/** Texts that were too slow, which are remembered. */
const REMEMBERED_SLOW = 10_000;

/** A feed with all its notes rendered or shown as text. */
export interface RenderedFeed {
  readonly task: FeedTask;
  /** False if a note is shown as text that a later request may get rendered. */
  readonly isComplete: boolean;
}

interface ShownNotes<N> {
  readonly notes: readonly N[];
  /** False if a text was not rendered that a later request may get rendered. */
  readonly isComplete: boolean;
}

/** A text that is to be rendered. */
interface Text {
  readonly content: Uint8Array;
  readonly sha256: string;
  rendered: Rendered | undefined;
}

/** Who asks for texts to be rendered, and how. */
interface Wish {
  /** Tasks of the same one take turns. */
  readonly key: string;
  /** Whether to keep what is rendered. */
  readonly keep: boolean;
  /** Ends running tasks, too. */
  readonly signal?: AbortSignal | undefined;
  /** Nobody waits any more, so no task is begun. */
  isOver: boolean;
}

/** Renders each text once, wherever its feed is: short ones on the event loop, others on worker threads. */
export class Renderer {
  readonly #pools: RenderingPools;
  readonly #patienceMs: number;
  /** By hash. */
  readonly #rendered: LRUCache<string, Rendered>;
  /** The next lane of texts that were too slow, by hash; the number of lanes for those that are shown as text. */
  readonly #nextLane = new LRUCache<string, number>({ max: REMEMBERED_SLOW });
  readonly #turns = LANES.map(() => new KeyedLimit(1));

  /**
   * @param keepBytes size of the cache of rendered HTML, in bytes
   * @param patienceMs how long a reader waits for texts in the last lane
   */
  constructor(pools: RenderingPools, keepBytes: number, patienceMs = PATIENCE_MS) {
    this.#pools = pools;
    this.#patienceMs = patienceMs;
    this.#rendered = new LRUCache({
      maxSize: Math.max(1, keepBytes),
      sizeCalculation: (rendered, key) =>
        2 * (htmlLength(rendered) + rendered.title.length + rendered.excerpt.length + key.length) +
        32 * rendered.html.length +
        8 * rendered.pictures.length +
        200,
    });
  }

  /**
   * The feed with its notes rendered. A note is shown as text in a `<pre>` if its rendering exceeds its CPU or memory limit, if
   * its thread dies, or if it is known to be slow and not rendered in time. Tasks of a feed take turns with those of others.
   * @throws Refusal `busy` if too many tasks wait
   */
  async render(task: FeedTask): Promise<RenderedFeed> {
    const { notes, isComplete } = await this.#shown(task.document.notes, task.document.readId);
    return { task: withNotes(task, notes), isComplete };
  }

  /**
   * The notes with the titles of their texts: found on the event loop if they are at the beginning of a flat text, else with
   * the rendering, as in `render`.
   * @throws Refusal `busy` if too many tasks wait
   */
  async titled<N extends Note>(notes: readonly N[], readId: ReadId): Promise<ShownNotes<N & TitledNote>> {
    const texts = notes.filter(({ content, meta }) => content !== undefined && !meta.title);
    const atOnce = titlesAtOnce(texts.map(({ content }) => content!));
    const titles = new Map<Note, string | undefined>(texts.map((note, n) => [note, atOnce[n]]));
    const left = texts.filter((note) => titles.get(note) === undefined);
    const { notes: rendered, isComplete } = await this.#shown(left, readId);
    for (const [n, note] of left.entries()) titles.set(note, rendered[n]!.rendered?.title);
    const titled = notes.map((note) => {
      const title = titles.get(note);
      return title === undefined ? note : { ...note, rendered: { title } };
    });
    return { notes: titled, isComplete };
  }

  /** As `titled`, but the beginning of the text is its title if nothing can be rendered now. */
  async titledNote(note: Note, readId: ReadId): Promise<TitledNote> {
    try {
      return (await this.titled([note], readId)).notes[0]!;
    } catch (cause) {
      if (!(cause instanceof Refusal)) throw cause;
      return { ...note, rendered: unrendered(note.content!) };
    }
  }

  async #shown(notes: readonly Note[], readId: ReadId): Promise<ShownNotes<ViewNote>> {
    const texts = notes.map(({ content }) => (content === undefined ? undefined : this.#textOf(content)));
    const missing = texts.filter((text) => text !== undefined && text.rendered === undefined) as Text[];
    if (missing.length > 0) await this.#render(missing, { key: readId, keep: true, isOver: false });
    const shown = notes.map((note, n) =>
      note.content ? { ...note, rendered: texts[n]!.rendered ?? unrendered(note.content) } : note,
    );
    return { notes: shown, isComplete: missing.every(({ rendered }) => rendered !== undefined) };
  }

  /**
   * A text by itself, not kept; in a `<pre>` as in `render`.
   * @param sender whose texts take turns
   * @throws Refusal `busy`; the reason of the signal, which ends the rendering
   */
  async text(content: Uint8Array, sender: string, signal?: AbortSignal): Promise<Rendered> {
    const text = this.#textOf(content);
    if (text.rendered === undefined)
      await this.#render([text], { key: sender, keep: false, signal, isOver: false });
    return text.rendered ?? unrendered(content);
  }

  #textOf(content: Uint8Array): Text {
    const sha256 = hash('sha256', content, 'base64url');
    const text: Text = { content, sha256, rendered: undefined };
    text.rendered = this.#known(text);
    return text;
  }

  #known({ content, sha256 }: Text): Rendered | undefined {
    return this.#nextLane.get(sha256) === LANES.length ? unrendered(content) : this.#rendered.get(sha256);
  }

  async #render(texts: readonly Text[], wish: Wish): Promise<void> {
    const atOnce = renderAtOnce(texts.map(({ content }) => content));
    for (const [n, rendered] of atOnce.entries()) this.#finish(texts[n]!, rendered, wish);
    const left = texts.slice(atOnce.length);
    try {
      for (let lane = 0; lane < LAST_LANE; lane++) await this.#runLane(lane, left, wish);
      await this.#runLastLane(left, wish);
    } catch (cause) {
      if (cause instanceof Refusal || wish.signal?.aborted) throw cause;
      // A thread that died says nothing of its texts, which stay unrendered.
      process.emitWarning(`A feed was not rendered: ${cause}`);
    }
  }

  async #runLastLane(texts: readonly Text[], wish: Wish): Promise<void> {
    const isDone = new AbortController();
    try {
      const patience = wait(this.#patienceMs, undefined, { signal: isDone.signal });
      await Promise.race([this.#runLane(LAST_LANE, texts, wish), patience]);
    } finally {
      isDone.abort();
      wish.isOver = true;
    }
  }

  /** Renders those of the texts whose lane it is, in as many tasks as it takes. */
  async #runLane(lane: number, texts: readonly Text[], wish: Wish): Promise<void> {
    const { maxSlow, maxTexts } = LANES[lane]!;
    const mine = () => texts.filter((text) => this.#laneOf(text) === lane);
    let slow = 0;
    while (!wish.isOver && slow < maxSlow && mine().length > 0)
      await this.#turns[lane]!.run(wish.key, async () => {
        if (wish.isOver) return;
        const tried = mine().slice(0, maxTexts);
        if (tried.length > 0) slow += await this.#runTask(lane, tried, wish);
      });
  }

  /** Undefined if the text is rendered, maybe for another reader. */
  #laneOf(text: Text): number | undefined {
    text.rendered ??= this.#known(text);
    if (text.rendered !== undefined) return undefined;
    const { length } = text.content;
    return this.#nextLane.get(text.sha256) ?? LANES.findIndex(({ maxBytes }) => length <= maxBytes);
  }

  /** Renders as many of the texts as a task takes. Returns how many were too slow. */
  async #runTask(lane: number, texts: readonly Text[], wish: Wish): Promise<number> {
    let slow = 0;
    for (const [n, rendered] of (await this.#attempt(LANES[lane]!, texts, wish.signal)).entries()) {
      const text = texts[n]!;
      if (rendered !== undefined) this.#finish(text, rendered, wish);
      else {
        slow += 1;
        this.#nextLane.set(text.sha256, lane + 1);
        text.rendered = this.#known(text);
      }
    }
    return slow;
  }

  /** Of the texts from the first on; undefined for those that are too slow. */
  async #attempt(
    { pool, ms }: Lane,
    texts: readonly Text[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (Rendered | undefined)[]> {
    // Copies, because the whole buffer of each is sent to the thread.
    const task: UnrenderedTexts = { contents: texts.map(({ content }) => new Uint8Array(content)), ms };
    const limit = { ms: 2 * ms + HARD_LIMIT_MS, counts: 'cpu time' } as const;
    try {
      const rendered = await this.#pools[pool].run('render-texts', task, { limit, signal });
      return rendered as (Rendered | undefined)[];
    } catch (cause) {
      if (cause instanceof TaskTimeout || ranOutOfMemory(cause)) return texts.map(() => undefined);
      throw cause;
    }
  }

  #finish(text: Text, rendered: Rendered, { keep }: Wish): void {
    text.rendered = rendered;
    if (keep) this.#rendered.set(text.sha256, rendered);
  }
}

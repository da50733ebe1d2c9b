import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ReadId } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import type { Coding } from '../http/representation.ts';
import { Refusal } from '../refusals.ts';
import { KeyedLimit } from '../worker-pool.ts';
import { type Lane, NO_LIMIT, REMEMBERED_SLOW, type RenderingPools, runLane, runTask } from './lanes.ts';
import { unrendered } from './note-html.ts';
import type { Rendered } from './note-text.ts';
import { titlesOnLoop } from './note-title.ts';
import { renderOnLoop } from './render-on-loop.ts';
import {
  type Composed,
  type FeedTask,
  ownBytes,
  sendable,
  type ViewTask,
  withNotes,
} from './views/compose.ts';
import type { TitledNote, ViewNote } from './views/document.ts';

/** Texts to render: these, or those of a view that are not rendered yet. */
export type UnrenderedTexts = {
  /** Limit of each text, in ms of CPU. */
  readonly ms: number;
} & (
  | { /** Markdown in UTF-8. */ readonly contents: readonly Uint8Array[]; readonly view?: undefined }
  | { readonly view: ViewTask<FeedTask> }
);

export interface RenderedTexts {
  /** Of the first texts; undefined for one that is too slow. */
  readonly rendered: readonly (Rendered | undefined)[];
  /** The view; undefined if not all its texts are rendered, or if composing it takes long. */
  readonly composed?: Composed;
}

/**
 * Each text starts in the first lane that takes its length, and starts again in the next if it takes too long; behind the last
 * lane it is shown as its text. So usual texts wait only for tasks as short as their own, whatever texts others have.
 */
const LANES: readonly Lane[] = [
  { pool: 'parsing', ms: 10, maxLength: 8 * 1024, maxTexts: 50, maxSlow: NO_LIMIT },
  { pool: 'slowParsing', ms: 250, maxLength: NO_LIMIT, maxTexts: 1, maxSlow: 4 },
  { pool: 'slowestParsing', ms: 2_000, maxLength: NO_LIMIT, maxTexts: 1, maxSlow: NO_LIMIT },
];
const LAST_LANE = LANES.length - 1;
/**
 * How long a reader waits for texts in the last lane, ms. In the other lanes readers wait as long as needed, because usual texts
 * must never be shown unrendered. A request finds at most `maxSlow` texts too slow for the second lane: 1 s of CPU.
 */
const PATIENCE_MS = 4_000;

/** A feed with all its notes rendered or shown as text. */
export interface RenderedFeed {
  readonly task: FeedTask;
  /** Undefined if it was not composed with its last texts. */
  readonly composed: Composed | undefined;
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
  /** Whether to keep how it is shown. */
  readonly keep: boolean;
  rendered: Rendered | undefined;
}

/** Who asks for texts to be rendered, and how. */
interface RenderRequest {
  /** Tasks of the same one take turns. */
  readonly key: string;
  /** Those that are not rendered yet. */
  readonly texts: readonly Text[];
  /** How many of the lanes it waits for. */
  readonly lanes: number;
  /** The view that they are for, as far as it is rendered. */
  readonly view?: (() => ViewTask<FeedTask>) | undefined;
  composed?: Composed | undefined;
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
        2 * (rendered.html.length + rendered.title.length + rendered.excerpt.length + key.length) +
        8 * rendered.pictures.length +
        200,
    });
  }

  /**
   * The feed with its notes rendered. A note is shown as text in a `<pre>` if its rendering exceeds its CPU or memory limit, if
   * its thread dies, or if it is known to be slow and not rendered in time. Tasks of a feed take turns with those of others.
   * @param coding of a compressed form to make if the view is composed on a thread
   * @throws Refusal `busy` if too many tasks wait
   */
  async render(asked: FeedTask, coding?: Coding): Promise<RenderedFeed> {
    const { notes, readId } = asked.document;
    const view = (shown: readonly ViewNote[]) => ({ task: sendable(withNotes(asked, shown)), coding });
    const { notes: shown, ...rest } = await this.#shown(notes, readId, LANES.length, view);
    return { task: withNotes(asked, shown), ...rest };
  }

  /**
   * The notes with the titles of their texts. A title at the beginning of a flat text is found on the event loop, others by
   * rendering. A text that needs the last lane has its beginning as title, until somebody has it rendered for a view.
   * @throws Refusal `busy` if too many tasks wait
   */
  async titled<N extends Note>(notes: readonly N[], readId: ReadId): Promise<ShownNotes<N & TitledNote>> {
    const texts = notes.filter(({ content, meta }) => content !== undefined && !meta.title);
    const onLoop = titlesOnLoop(texts.map(({ content }) => content!));
    const titles = new Map<Note, string | undefined>(texts.map((note, n) => [note, onLoop[n]]));
    const left = texts.filter((note) => titles.get(note) === undefined);
    const { notes: rendered, isComplete } = await this.#shown(left, readId, LAST_LANE);
    for (const [n, note] of left.entries()) titles.set(note, rendered[n]!.rendered?.title);
    const titled = notes.map((note) => {
      const title = titles.get(note);
      return title === undefined ? note : { ...note, rendered: { title } };
    });
    return { notes: titled, isComplete };
  }

  /** The notes rendered as for a view. Throws a Refusal `busy` if too many tasks wait. */
  texts(notes: readonly Note[], readId: ReadId): Promise<ShownNotes<ViewNote>> {
    return this.#shown(notes, readId, LANES.length);
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

  /** @param viewOf the view to compose on a thread with the last of the texts */
  async #shown(
    notes: readonly Note[],
    key: ReadId,
    lanes: number,
    viewOf?: (notes: readonly ViewNote[]) => ViewTask<FeedTask>,
  ): Promise<ShownNotes<ViewNote> & Pick<RenderedFeed, 'composed'>> {
    const all = notes.map(({ content }) => content && this.#textOf(content, true));
    const texts = all.filter((text) => text !== undefined && !isRendered(text)) as Text[];
    const shown = () => notes.map((note, n) => ({ ...note, rendered: all[n]?.rendered }));
    const view = viewOf && (() => viewOf(shown()));
    const request: RenderRequest = { key, texts, lanes, view, isOver: false };
    await this.#render(request);
    const isComplete = texts.every(isRendered);
    for (const text of texts) text.rendered ??= unrendered(text.content);
    return { notes: shown(), composed: request.composed, isComplete };
  }

  /**
   * Renders a text by itself, and keeps nothing. A text that cannot be rendered is in a `<pre>`, as in `render`. Undefined if a later
   * attempt may succeed.
   * @param sender whose texts take turns
   * @throws Refusal `busy`; the reason of the signal, which ends the rendering
   */
  async text(content: Uint8Array, sender: string, signal?: AbortSignal): Promise<Rendered | undefined> {
    // A copy, because the whole buffer is sent to the thread.
    const text = this.#textOf(new Uint8Array(content), false);
    await this.#render({
      key: sender,
      lanes: LANES.length,
      texts: [text].filter((one) => !isRendered(one)),
      signal,
      isOver: false,
    });
    return text.rendered;
  }

  #textOf(content: Uint8Array, keep: boolean): Text {
    const sha256 = hash('sha256', content, 'base64url');
    const text: Text = { content, sha256, keep, rendered: undefined };
    text.rendered = this.#known(text);
    return text;
  }

  #known(text: Text): Rendered | undefined {
    const known = this.#rendered.get(text.sha256);
    if (known !== undefined || this.#nextLane.get(text.sha256) !== LANES.length) return known;
    // Kept as well, because escaping ten long texts takes 50 ms.
    this.#finish(text, unrendered(text.content));
    return text.rendered;
  }

  async #render(request: RenderRequest): Promise<void> {
    const { texts, signal } = request;
    const onLoop = renderOnLoop(texts.map(({ content }) => content));
    for (const [n, rendered] of onLoop.entries()) this.#finish(texts[n]!, rendered);
    try {
      for (let lane = 0; lane < request.lanes; lane += 1) {
        if (texts.every(isRendered)) return;
        const running = this.#runLane(lane, request);
        await (lane === LAST_LANE ? this.#forAWhile(running) : running);
      }
    } catch (cause) {
      if (cause instanceof Refusal || signal?.aborted) throw cause;
      // A thread that died says nothing of its texts, which stay unrendered.
      process.emitWarning(`A feed was not rendered: ${cause}`);
    } finally {
      request.isOver = true;
    }
  }

  async #forAWhile(running: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#patienceMs);
    await Promise.race([running, promise]).finally(() => clearTimeout(timer));
  }

  /** Renders those of the texts whose lane it is, in as many tasks as it takes. */
  #runLane(lane: number, request: RenderRequest): Promise<void> {
    const left = () => (request.isOver ? [] : request.texts.filter((text) => this.#laneOf(text) === lane));
    return runLane(LANES[lane]!, this.#turns[lane]!, request.key, left, (texts) =>
      this.#runTask(lane, texts, request),
    );
  }

  /** Undefined if the text is rendered, maybe for another reader. */
  #laneOf(text: Text): number | undefined {
    text.rendered ??= this.#known(text);
    if (text.rendered !== undefined) return undefined;
    const { length } = text.content;
    return this.#nextLane.get(text.sha256) ?? LANES.findIndex(({ maxLength }) => length <= maxLength);
  }

  /** Renders as many of the texts as a task takes. Returns how many were too slow. */
  async #runTask(lane: number, texts: readonly Text[], request: RenderRequest): Promise<number> {
    const { pool, ms } = LANES[lane]!;
    const isLast = texts.length === request.texts.filter((text) => !isRendered(text)).length;
    const task: UnrenderedTexts =
      lane === 0 && isLast && request.view
        ? { view: request.view(), ms }
        : { contents: texts.map(({ content }) => ownBytes(content)), ms };
    const result = await runTask<RenderedTexts>(this.#pools[pool], 'render-texts', task, request.signal);
    const { rendered, composed } = result ?? { rendered: texts.map(() => undefined) };
    request.composed = composed;
    let slow = 0;
    for (const [n, one] of rendered.entries()) {
      const text = texts[n]!;
      if (one !== undefined) this.#finish(text, one);
      else {
        slow += 1;
        this.#nextLane.set(text.sha256, lane + 1);
        text.rendered = this.#known(text);
      }
    }
    return slow;
  }

  #finish(text: Text, rendered: Rendered): void {
    text.rendered = rendered;
    if (text.keep) this.#rendered.set(text.sha256, rendered);
  }
}

function isRendered({ rendered }: Text): boolean {
  return rendered !== undefined;
}

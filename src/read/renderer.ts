import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Refusal } from '../refusals.ts';
import type { TaskLimit } from '../task-limit.ts';
import { ranOutOfMemory, TaskTimeout, type WorkerPool } from '../worker-pool.ts';
import { escapedText } from './html.ts';

/** The most a text may take to render, however busy the machine is; beyond it readers get it as plain text. */
const LIMIT: TaskLimit = { ms: 2_000, counts: 'cpu time' };
/** How many texts that took too much are remembered, so that no reader waits for them again. */
const REMEMBERED_SLOW = 10_000;

/** How a text is asked for. */
export interface RenderOptions {
  /** Nobody waits for it any more from then on, a time of `performance.now()`. */
  readonly until: number;
  /** False for HTML that must not take room. */
  readonly keep: boolean;
}

/** Markdown to HTML on worker threads, once for each text. */
export class Renderer {
  readonly #pool: WorkerPool;
  readonly #rendered: LRUCache<string, string>;
  readonly #slow = new LRUCache<string, true>({ max: REMEMBERED_SLOW });
  /** The last rendering asked for of a text, by the text's hash. */
  readonly #lastOf = new Map<string, Promise<string | undefined>>();

  /** @param keepBytes how much rendered HTML is kept, in bytes */
  constructor(pool: WorkerPool, keepBytes: number) {
    this.#pool = pool;
    this.#rendered = new LRUCache({
      maxSize: Math.max(1, keepBytes),
      sizeCalculation: (html, key) => 2 * (html.length + key.length) + 100,
    });
  }

  /**
   * The HTML of a note; its text in a `<pre>` when rendering takes too much CPU time or memory. Undefined when it is not
   * known by `until`, after which nothing is begun, or when its thread died.
   * @param base what relative references are relative to
   * @throws Refusal `busy` when too many texts wait
   */
  async html(
    markdown: Uint8Array,
    base: string,
    { until, keep }: RenderOptions,
  ): Promise<string | undefined> {
    const hash = hashOf(markdown);
    const ready = this.#ready(hash, markdown, base);
    const left = until - performance.now();
    if (ready !== undefined || left <= 0) return ready;
    let isAwaited = true;
    const rendering = this.#inTurn(hash, async () => {
      const made = this.#ready(hash, markdown, base);
      return made ?? (isAwaited ? this.#render(hash, markdown, base, keep) : undefined);
    });
    const end = Promise.withResolvers<undefined>();
    const timer = setTimeout(end.resolve, left, undefined);
    try {
      return await Promise.race([rendering, end.promise]);
    } finally {
      isAwaited = false;
      clearTimeout(timer);
    }
  }

  /** One rendering of a text at a time: a slow one, asked for in many views at once, would hold every thread. */
  #inTurn(hash: string, render: () => Promise<string | undefined>): Promise<string | undefined> {
    const before = this.#lastOf.get(hash);
    const rendering = before === undefined ? render() : before.then(render, render);
    this.#lastOf.set(hash, rendering);
    const forget = () => {
      if (this.#lastOf.get(hash) === rendering) this.#lastOf.delete(hash);
    };
    rendering.then(forget, forget);
    return rendering;
  }

  #ready(hash: string, markdown: Uint8Array, base: string): string | undefined {
    return this.#slow.has(hash) ? escapedText(markdown) : this.#rendered.get(`${hash} ${base}`);
  }

  async #render(
    hash: string,
    markdown: Uint8Array,
    base: string,
    keep: boolean,
  ): Promise<string | undefined> {
    try {
      const task = { markdown, base };
      const html = (await this.#pool.run('render-markdown', task, { limit: LIMIT })) as string;
      if (keep) this.#rendered.set(`${hash} ${base}`, html);
      return html;
    } catch (cause) {
      if (cause instanceof Refusal) throw cause;
      if (!(cause instanceof TaskTimeout || ranOutOfMemory(cause))) {
        process.emitWarning(`A text was not rendered: ${cause}`);
        return undefined;
      }
      // It would again.
      this.#slow.set(hash, true);
      return escapedText(markdown);
    }
  }
}

function hashOf(markdown: Uint8Array): string {
  return createHash('sha256').update(markdown).digest('base64url');
}

import { finished, type Readable } from 'node:stream';

/** A stream is read ahead of its reader by at most this many pieces. */
const PIECES_AHEAD = 8;

/** Why a request was aborted. */
export class Stalled extends Error {}

/** Aborts a request if no byte moves for a while. A body that keeps moving may take any time. */
export class StallTimeout {
  readonly #ms: number;
  readonly #aborting = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Runs a task whose signal aborts if it stalls, or if the outer signal does. */
  static async run<T>(
    ms: number,
    outer: AbortSignal,
    task: (timeout: StallTimeout) => Promise<T>,
  ): Promise<T> {
    const timeout = new StallTimeout(ms);
    const abort = () => timeout.abort(outer.reason);
    if (outer.aborted) abort();
    outer.addEventListener('abort', abort);
    timeout.restart();
    try {
      return await task(timeout);
    } catch (error) {
      throw timeout.signal.aborted ? timeout.signal.reason : error;
    } finally {
      outer.removeEventListener('abort', abort);
      timeout.clear();
    }
  }

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  abort(reason: unknown): void {
    this.#aborting.abort(reason);
  }

  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.abort(new Stalled(`nothing moved for ${this.#ms} ms`)), this.#ms);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  /** The same pieces. The timeout restarts whenever one is taken. */
  async *watch(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of pieces) {
      this.restart();
      yield piece;
    }
    this.restart();
  }

  /**
   * The pieces of a stream. The timeout runs only while the reader waits for one. The iterator of the stream itself would
   * stop the socket at each piece, and copy pieces that arrived together into one.
   */
  async *read(stream: Readable): AsyncIterable<Uint8Array> {
    const pieces: Uint8Array[] = [];
    let end: { readonly error: unknown } | undefined;
    let wake = () => {};
    stream.on('data', (piece) => {
      if (pieces.push(piece) === PIECES_AHEAD) stream.pause();
      wake();
    });
    finished(stream, { writable: false }, (error) => {
      end = { error };
      wake();
    });
    this.signal.addEventListener('abort', () => stream.destroy(this.signal.reason));
    for (;;) {
      for (let piece = pieces.shift(); piece; piece = pieces.shift()) yield piece;
      if (end?.error) throw end.error;
      if (end) return;
      stream.resume();
      this.restart();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      this.clear();
    }
  }
}

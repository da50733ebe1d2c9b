import { finished, type Readable } from 'node:stream';

/** A stream is read ahead of its reader by so many pieces. */
const PIECES_AHEAD = 8;

/** Why a request was given up. */
export class Silence extends Error {}

/** Gives up a request that moves no byte for a while. There is no limit for the whole of one that does. */
export class Patience {
  readonly #ms: number;
  readonly #aborting = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  /** @param ms abort when no byte has moved for this long */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Runs a work that ends when its signal says so: on silence, or with the outer one. */
  static async with<T>(ms: number, outer: AbortSignal, work: (patience: Patience) => Promise<T>): Promise<T> {
    const patience = new Patience(ms);
    const end = () => patience.giveUp(outer.reason);
    if (outer.aborted) end();
    outer.addEventListener('abort', end);
    patience.moved();
    try {
      return await work(patience);
    } catch (error) {
      throw patience.signal.aborted ? patience.signal.reason : error;
    } finally {
      outer.removeEventListener('abort', end);
      patience.end();
    }
  }

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  /** Ends the work at once. */
  giveUp(reason: unknown): void {
    this.#aborting.abort(reason);
  }

  /** Something has moved. */
  moved(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.giveUp(new Silence(`nothing moved for ${this.#ms} ms`)), this.#ms);
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /** The same pieces; whoever asks for one has taken the one before. */
  async *watch(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of pieces) {
      this.moved();
      yield piece;
    }
    this.moved();
  }

  /**
   * The pieces of a stream, which must come in time; how long their reader takes does not count. The iterator of the stream
   * would stop the socket at each piece, and copy those that arrived together into one.
   */
  async *reading(stream: Readable): AsyncIterable<Uint8Array> {
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
      this.moved();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      this.end();
    }
  }
}

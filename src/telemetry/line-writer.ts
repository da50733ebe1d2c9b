import { write } from 'node:fs';

/** Lines of a busy service go out together, so long after those before: each write is a trip to a thread and back. */
const GATHERING_MS = 10;
const AGAIN_MS = 20;
const BROKEN_MS = 1000;

/** Where log lines go. */
export interface LineDestination {
  /** Takes one line, its line break included. Never throws and never waits. */
  write(line: string): void;
  /** Lines that were dropped since the start. */
  readonly lost: number;
  /** Settles when every line taken is written, or after about `maxMs` milliseconds. */
  close(maxMs: number): Promise<void>;
}

export interface LineWriterOptions {
  /** Characters held at most, those being written included; lines beyond it are dropped. */
  readonly maxHeld: number;
  /** Called with the number of dropped lines when the reader moves again. May write lines. */
  readonly onLost: (lines: number) => void;
}

/**
 * Writes lines to a file descriptor without ever waiting for its reader.
 *
 * The descriptor must not block (see `unblocked`): a blocked write would hold a thread of the pool, and with it
 * the exit of the process. A full pipe is tried again every 20 ms, a failing disk or a reader that went away every
 * second, each from the byte where it stopped: both may come back.
 */
export class LineWriter implements LineDestination {
  readonly #fd: number;
  readonly #options: LineWriterOptions;
  #waiting: string[] = [];
  #held = 0;
  #lost = 0;
  /** Those of the lost lines that `onLost` has not been told of. */
  #dropped = 0;
  #writing = false;
  #idle: (() => void)[] = [];

  constructor(fd: number, options: LineWriterOptions) {
    this.#fd = fd;
    this.#options = options;
  }

  get lost(): number {
    return this.#lost;
  }

  write(line: string): void {
    if (this.#held + line.length > this.#options.maxHeld) {
      this.#dropped++;
      this.#lost++;
      return;
    }
    this.#waiting.push(line);
    this.#held += line.length;
    if (!this.#writing) this.#writeWaiting();
  }

  async close(maxMs: number): Promise<void> {
    if (!this.#writing) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, maxMs);
    this.#idle.push(resolve);
    await promise;
    clearTimeout(timer);
  }

  #writeWaiting(): void {
    const held = this.#held;
    const bytes = Buffer.from(this.#waiting.join(''));
    this.#waiting = [];
    this.#writing = true;
    this.#writeRest(bytes, () => this.#wrote(held));
  }

  #writeRest(bytes: Buffer, done: () => void): void {
    write(this.#fd, bytes, (error, written) => {
      if (error) {
        const ms = error.code === 'EAGAIN' ? AGAIN_MS : BROKEN_MS;
        setTimeout(() => this.#writeRest(bytes, done), ms).unref();
      } else if (written < bytes.length) {
        this.#writeRest(bytes.subarray(written), done);
      } else {
        done();
      }
    });
  }

  #wrote(characters: number): void {
    this.#held -= characters;
    if (this.#dropped > 0) {
      const lost = this.#dropped;
      this.#dropped = 0;
      this.#options.onLost(lost);
    }
    if (this.#waiting.length > 0) setTimeout(() => this.#writeWaiting(), GATHERING_MS);
    else this.#settle();
  }

  #settle(): void {
    this.#writing = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

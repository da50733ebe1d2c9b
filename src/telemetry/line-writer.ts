import { write } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

const writeSome = promisify(write);

/** Batch interval of writes, because each takes a trip to the thread pool, ms. */
const BATCH_MS = 10;
/** Retry interval with a full pipe, and with a broken one, ms. */
const FULL_MS = 20;
const BROKEN_MS = 1000;

/** Where log lines go. */
export type LineDestination = Pick<LineWriter, 'write' | 'lost' | 'close'>;

interface LineWriterOptions {
  /** The most characters held, including those being written; lines beyond it are dropped. */
  readonly maxHeld: number;
  /** Called with the number of dropped lines once the reader goes on. May write lines. */
  readonly onLost: (lines: number) => void;
}

/**
 * Writes lines to a non-blocking file descriptor without waiting for its reader. (A blocked write would hold a thread of the
 * pool, and with it the exit of the process.) Writes to a full pipe are retried every 20 ms, to a full disk or without a
 * reader every second, from the byte where they stopped.
 */
export class LineWriter {
  readonly #fd: number;
  readonly #options: LineWriterOptions;
  #waiting: string[] = [];
  #held = 0;
  #lost = 0;
  /** Lost lines that `onLost` has not been called for. */
  #dropped = 0;
  /** Settles when no line is waiting. */
  #writing: Promise<void> | undefined;

  constructor(fd: number, options: LineWriterOptions) {
    this.#fd = fd;
    this.#options = options;
  }

  /** Lines dropped since the start. */
  get lost(): number {
    return this.#lost;
  }

  /** Takes a line with its line break. Never throws or waits. */
  write(line: string): void {
    if (this.#held + line.length > this.#options.maxHeld) {
      this.#dropped++;
      this.#lost++;
      return;
    }
    this.#waiting.push(line);
    this.#held += line.length;
    this.#writing ??= this.#writeWaiting();
  }

  /** Settles when every line is written, or after about `maxMs` milliseconds. */
  async close(maxMs: number): Promise<void> {
    const timer = new AbortController();
    await Promise.race([this.#writing, wait(maxMs, undefined, { signal: timer.signal })]);
    timer.abort();
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const held = this.#held;
      await this.#writeAll(Buffer.from(this.#waiting.splice(0).join('')));
      this.#held -= held;
      if (this.#dropped > 0) {
        const lost = this.#dropped;
        this.#dropped = 0;
        this.#options.onLost(lost);
      }
      if (this.#waiting.length > 0) await wait(BATCH_MS);
    }
    this.#writing = undefined;
  }

  async #writeAll(bytes: Buffer): Promise<void> {
    for (let rest = bytes; rest.length > 0; ) {
      try {
        const { bytesWritten } = await writeSome(this.#fd, rest);
        rest = rest.subarray(bytesWritten);
      } catch (error) {
        const ms = (error as NodeJS.ErrnoException).code === 'EAGAIN' ? FULL_MS : BROKEN_MS;
        await wait(ms, undefined, { ref: false });
      }
    }
  }
}

import type { Worker } from 'node:worker_threads';
import { cpuMsBetween, cpuMsOf, ownCpuMs } from '../cpu-time.ts';

const [CHANGES, LENGTH, CPU_MS] = [0, 1, 2];
const HEAD_BYTES = 12;
/** Longer than any key. */
const TEXT_BYTES = 1024;

/** The note that a thread works on, as another thread sees it even while that one hangs. */
export class NoteInWork {
  readonly shared: SharedArrayBuffer;
  readonly #numbers: Int32Array;
  readonly #text: Uint8Array;

  /** @param shared of the other thread */
  constructor(shared = new SharedArrayBuffer(HEAD_BYTES + TEXT_BYTES)) {
    this.shared = shared;
    this.#numbers = new Int32Array(shared, 0, HEAD_BYTES / 4);
    this.#text = new Uint8Array(shared, HEAD_BYTES);
  }

  begin(key: string): void {
    const { written } = new TextEncoder().encodeInto(key, this.#text);
    Atomics.store(this.#numbers, CPU_MS, ownCpuMs());
    Atomics.store(this.#numbers, LENGTH, written);
    Atomics.add(this.#numbers, CHANGES, 1);
  }

  end(): void {
    Atomics.store(this.#numbers, LENGTH, 0);
  }

  /** How many notes were begun. */
  get begun(): number {
    return Atomics.load(this.#numbers, CHANGES);
  }

  /** CPU time that the thread had used when it began the note, in ms; see `cpuMsBetween`. */
  get cpuMsBefore(): number {
    return Atomics.load(this.#numbers, CPU_MS);
  }

  /** Undefined between two notes. */
  get key(): string | undefined {
    const length = Atomics.load(this.#numbers, LENGTH);
    return length === 0 ? undefined : Buffer.from(this.#text.slice(0, length)).toString();
  }

  /** The key, if there is one; then the work on that note is over. */
  take(): string | undefined {
    const { key } = this;
    this.end();
    return key;
  }
}

/** How often it is looked within the limit. */
const LOOKS = 5;

/**
 * Looks again and again whether a thread hangs at a note, and calls back if so. It counts the CPU time of the thread, because one of low
 * priority on a busy machine may need many times as long.
 * @param limitMs the CPU time after which a note counts as hanging; must be far more than any note needs
 * @returns the timer, to end it
 */
export function watchForHang(
  inWork: NoteInWork,
  limitMs: number,
  currentThread: () => Worker | undefined,
  onHang: () => void,
): NodeJS.Timeout {
  const look = async () => {
    const [thread, { begun, key }] = [currentThread(), inWork];
    if (thread === undefined || key === undefined) return;
    const usedMs = await cpuMsOf(thread);
    const isSame = currentThread() === thread && inWork.begun === begun && inWork.key === key;
    if (!isSame || usedMs === undefined) return;
    if (cpuMsBetween(inWork.cpuMsBefore, usedMs) > limitMs) onHang();
  };
  return setInterval(look, limitMs / LOOKS).unref();
}

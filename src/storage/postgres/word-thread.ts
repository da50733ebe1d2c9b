import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Log } from '../../telemetry/log.ts';
import { NoteInWork, watchForHang } from '../note-in-work.ts';
import { CLOSE, THREAD_HEAP } from '../thread-calls.ts';
import { knownHosts } from './connection-options.ts';

const SCRIPT = new URL('../../../workers/index-postgres.ts', import.meta.url);
/** Changes within this time wake the thread once, ms. */
const WAKE_MS = 50;
/** CPU time that one note may take, ms; far more than the limit within which its text has to be read. */
const HANG_MS = 5_000;
const RESTART_MS = 1_000;
/** How long the thread may take to end, ms. */
const CLOSE_MS = 2_000;
/** The most notes that are remembered as too slow to read, and are indexed as they are written. */
const MAX_AS_WRITTEN = 1_000;

/** The `workerData` of the thread. */
export interface WordThreadData {
  readonly url: string;
  /** See `DatabaseOptions`. */
  readonly isPooled: boolean;
  /** `Hosts.timeline` when the thread was started. */
  readonly timeline: number;
  /** `NoteInWork.shared` */
  readonly inWork: SharedArrayBuffer;
  /** Keys of notes whose text is taken as it is written, because the thread died or hung when it read it. */
  readonly asWritten: readonly string[];
}

/** What the thread tells: why it could not do its work, by a code. */
export interface WordThreadMessage {
  readonly failure: string;
}

/** The thread that makes what notes are found by, if no other process does. One that dies or hangs is replaced. */
export class WordThread {
  readonly #database: Pick<WordThreadData, 'url' | 'isPooled'>;
  readonly #script: URL;
  readonly #log: Pick<Log, 'warn'>;
  readonly #asWritten = new Set<string>();
  readonly #inWork = new NoteInWork();
  readonly #watch: NodeJS.Timeout;
  #worker: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(database: Pick<WordThreadData, 'url' | 'isPooled'>, log: Pick<Log, 'warn'>, script = SCRIPT) {
    this.#database = database;
    this.#script = script;
    this.#log = log;
    this.#start();
    // A text may be too slow to split into words.
    const endThread = () => void this.#worker?.terminate();
    this.#watch = watchForHang(this.#inWork, HANG_MS, () => this.#worker, endThread);
  }

  /** Call it when notes changed. */
  wake(): void {
    this.#wakeTimer ??= setTimeout(() => {
      this.#wakeTimer = undefined;
      this.#worker?.postMessage('wake');
    }, WAKE_MS).unref();
  }

  /** Waits for the step that runs, but not for long. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of [this.#timer, this.#wakeTimer, this.#watch]) clearTimeout(timer);
    const worker = this.#worker;
    if (!worker) return;
    worker.ref();
    // A thread that fails has ended, too.
    const ended = once(worker, 'exit').catch(() => {});
    worker.postMessage(CLOSE);
    const late = setTimeout(() => worker.terminate(), CLOSE_MS);
    await ended;
    clearTimeout(late);
  }

  #start(): void {
    const workerData: WordThreadData = {
      ...this.#database,
      timeline: knownHosts(this.#database.url)?.timeline ?? 0,
      inWork: this.#inWork.shared,
      asWritten: [...this.#asWritten],
    };
    const worker = new Worker(this.#script, { workerData, resourceLimits: THREAD_HEAP });
    this.#worker = worker;
    worker.unref();
    worker.on('message', ({ failure }: WordThreadMessage) =>
      this.#log.warn(`notes cannot be prepared for searches at the moment (${failure})`),
    );
    worker.on('error', () => {});
    worker.on('exit', () => {
      this.#worker = undefined;
      if (this.#isClosed) return;
      this.#skip(this.#inWork.take());
      this.#log.warn('the thread that prepares notes for searches has ended, and is started again');
      this.#startLater();
    });
  }

  #startLater(): void {
    this.#timer = setTimeout(() => {
      try {
        this.#start();
      } catch {
        // There may be memory for a thread later.
        this.#startLater();
      }
    }, RESTART_MS).unref();
  }

  #skip(key: string | undefined): void {
    if (key === undefined) return;
    const [oldest] = this.#asWritten;
    if (this.#asWritten.size >= MAX_AS_WRITTEN) this.#asWritten.delete(oldest!);
    this.#asWritten.add(key);
  }
}

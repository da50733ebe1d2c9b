import { ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { ProcessMetrics } from '../telemetry/process-metrics.ts';
import { type Order, type Report, SUPERVISED } from './messages.ts';

interface ChildOptions {
  /** Settings beside those of this process's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Gets whole lines of its log. */
  readonly onLines: (lines: string) => void;
  /** Gets questions for the counts of all processes. */
  readonly onAsking: (asking: Child, id: number) => void;
}

/** A process of the service, as the supervisor sees it. */
export class Child {
  readonly startedAt = performance.now();
  /** Settles when it takes requests, with its address. Rejects with a sentence if it ends before. */
  readonly ready: Promise<string>;
  /** Settles with the way it ended, when all that it wrote has been passed on. */
  readonly ended: Promise<{ readonly how: string; readonly isOrderly: boolean }>;
  isReady = false;
  hasEnded = false;
  /** The counts that it sent last; undefined before the first. */
  counts: ProcessMetrics | undefined;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, () => void>();
  /** Why it cannot start. */
  #why: string | undefined;

  /** Starts this program again, as a process that serves. */
  constructor({ env, onLines, onAsking }: ChildOptions) {
    const { npm_lifecycle_event: _, ...inherited } = process.env;
    // A setting must not be there twice.
    for (const name of Object.keys(env)) delete inherited[`${name}_FILE`];
    this.#process = spawned(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
      env: { ...inherited, ...env, [SUPERVISED]: '1' },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      // JSON would make null of NaN.
      serialization: 'advanced',
    });
    // If the system could not start the process, there is no output.
    if (this.#process.stdout) passLinesOn(this.#process.stdout, onLines);
    const ready = Promise.withResolvers<string>();
    this.ready = ready.promise;
    this.ready.then(
      () => {
        this.isReady = true;
      },
      () => {},
    );
    this.#process.on('message', (report: Report) => {
      if (report.is === 'ready') ready.resolve(report.url);
      else if (report.is === 'failed') this.#why = report.why;
      else if (report.is === 'asking') onAsking(this, report.id);
      else this.#take(report.counts, report.id);
    });
    this.ended = this.#closed().then((end) => {
      this.hasEnded = true;
      ready.reject(new Error(this.#why ?? `a process ended ${end.how} before it took requests`));
      for (const wake of this.#waiting.values()) wake();
      return end;
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Does nothing if it is gone. */
  order(order: Order): void {
    if (this.#process.connected) this.#process.send(order, () => {});
  }

  /** Orders it to end, and kills it if it still runs after `limit` ms. */
  async end(is: 'stop' | 'drain', limit: number): Promise<void> {
    this.order({ is });
    const timer = setTimeout(() => this.kill(), limit);
    await this.ended;
    clearTimeout(timer);
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  /** Asks for its counts. If it does not answer within `limit` ms, returns the last ones that it sent. */
  async count(id: number, limit: number): Promise<ProcessMetrics | undefined> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(id, resolve);
    const timer = setTimeout(resolve, limit);
    this.order({ is: 'count', id });
    if (!this.hasEnded) await promise;
    clearTimeout(timer);
    this.#waiting.delete(id);
    return this.counts;
  }

  async #closed(): Promise<{ how: string; isOrderly: boolean }> {
    try {
      const [code, signal] = await once(this.#process, 'close');
      return { how: signal === null ? `with code ${code}` : `by ${signal}`, isOrderly: code === 0 };
    } catch (error) {
      return { how: `because of ${(error as Error).message}`, isOrderly: false };
    }
  }

  #take(counts: ProcessMetrics, id: number | undefined): void {
    this.counts = counts;
    if (id !== undefined) this.#waiting.get(id)?.();
  }
}

/** As `spawn`, but every failure is an event: Node throws those of the system that it does not expect, such as ENOMEM. */
function spawned(...command: Parameters<typeof spawn>): ChildProcess {
  try {
    return spawn(...command);
  } catch (error) {
    const none = new ChildProcess();
    process.nextTick(() => none.emit('error', error));
    return none;
  }
}

/**
 * Passes a process's output on in pieces of whole lines, so that lines of several processes do not mix. A last line that
 * does not end is dropped, because the process died while it wrote it.
 */
function passLinesOn(output: Readable, write: (lines: string) => void): void {
  let rest = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) write(rest + text.slice(0, end));
    rest = end > 0 ? text.slice(end) : rest + text;
  });
}

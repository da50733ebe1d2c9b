import type { ProcessGroup, ProcessMetrics } from '../telemetry/process-metrics.ts';
import { type Order, type Report, SUPERVISED } from './messages.ts';

/** How long to wait for the counts of all processes, ms. Prometheus waits 10 s. */
const ASK_MS = 8_000;

/** The connection of a process to its supervisor, through which it gets the counts of the other processes, too. */
export class SupervisorLink implements ProcessGroup {
  readonly #answers = new Map<number, (all: readonly ProcessMetrics[]) => void>();
  #asked = 0;
  #count: (() => Promise<ProcessMetrics>) | undefined;

  /** @param onEnd called when this process is to end: at once, or when its clients have gone elsewhere */
  constructor(onEnd: (is: 'stop' | 'drain', reason: string) => void) {
    process.on('message', (order: Order) => {
      if (order.is === 'count') this.#sendCounts(order.id);
      else if (order.is === 'all') this.#answers.get(order.id)?.(order.all);
      else onEnd(order.is, order.is === 'stop' ? 'the supervisor stops' : 'another process takes over');
    });
    process.on('disconnect', () => onEnd('stop', 'the supervisor is gone'));
  }

  /** Whether a supervisor has started this process. */
  static get isSupervised(): boolean {
    return process.env[SUPERVISED] === '1' && process.connected === true;
  }

  /** Says that this process takes requests. */
  ready(url: string): void {
    this.#send({ is: 'ready', url });
  }

  /** Says why it cannot start. */
  async failed(why: string): Promise<void> {
    await this.#send({ is: 'failed', why });
  }

  /** Sets the function whose counts are sent when the supervisor asks. */
  countWith(count: () => Promise<ProcessMetrics>): void {
    this.#count = count;
  }

  /** The counts of all processes, this one included, and of those that ended; of this one alone if that takes too long. */
  async countAll(): Promise<readonly ProcessMetrics[]> {
    const { promise, resolve } = Promise.withResolvers<readonly ProcessMetrics[]>();
    this.#asked += 1;
    const id = this.#asked;
    this.#answers.set(id, resolve);
    const alone = async () => resolve([await this.#count!()]);
    const timer = setTimeout(alone, ASK_MS);
    this.#send({ is: 'asking', id });
    const all = await promise;
    clearTimeout(timer);
    this.#answers.delete(id);
    return all;
  }

  /** Sends its counts for the last time, so that they are kept. */
  async leave(): Promise<void> {
    await this.#sendCounts();
  }

  async #sendCounts(id?: number): Promise<void> {
    if (this.#count === undefined) return;
    const counts = await this.#count();
    await this.#send(id === undefined ? { is: 'counts', counts } : { is: 'counts', id, counts });
  }

  /** Settles when it is sent, or when there is nobody to send it to. */
  #send(report: Report): Promise<void> {
    return new Promise((resolve) => {
      if (process.connected) process.send!(report, undefined, undefined, () => resolve());
      else resolve();
    });
  }
}

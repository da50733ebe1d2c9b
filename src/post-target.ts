import { Agent } from 'undici';

/** Time limit of a request, ms. */
export const POST_TIMEOUT_MS = 10_000;
/** The most that is read of an answer, bytes. A connection with more to read is closed. */
const MAX_ANSWER_BYTES = 4 * 1024;
/** Shortest time between two reports of failures, ms. */
const QUIET_MS = 10 * 60_000;

/** An address of somebody else that is told of changes. */
export class PostTarget {
  readonly #url: URL;
  readonly #noun: string;
  readonly #agent = new Agent({ allowH2: false, connect: { timeout: POST_TIMEOUT_MS } });
  /** No report before this time, ms of the monotonic clock. */
  #quietUntil = 0;
  #hasReportedDrop = false;

  /**
   * @param url without user, query and fragment
   * @param noun what errors call it
   */
  constructor(url: string, noun: string) {
    this.#url = new URL(url);
    this.#noun = noun;
  }

  get host(): string {
    return this.#url.host;
  }

  /**
   * Sends a request. Redirects are not followed, because they could lead into the network of the instance.
   * @throws Error unless it is answered with a 2xx before the signal
   */
  async post(headers: Record<string, string>, body: string, signal: AbortSignal): Promise<void> {
    const { origin, pathname } = this.#url;
    const { statusCode, body: answer } = await this.#agent.request({
      origin,
      path: pathname,
      method: 'POST',
      headers,
      body,
      signal,
    });
    // The status says all; reading the rest lets the connection be used again.
    await answer.dump({ limit: MAX_ANSWER_BYTES, signal }).catch(() => {});
    if (statusCode < 200 || statusCode > 299) throw new Error(`${this.#noun} answered ${statusCode}`);
  }

  /** Calls what logs a failure, unless it did so in the last ten minutes. */
  report(log: () => void): void {
    if (performance.now() < this.#quietUntil) return;
    this.#quietUntil = performance.now() + QUIET_MS;
    log();
  }

  /** Calls what logs that changes are dropped from now on, but only the first time. */
  reportDropped(log: () => void): void {
    if (!this.#hasReportedDrop) log();
    this.#hasReportedDrop = true;
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

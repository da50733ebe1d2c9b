import type { Caller } from '../access/access.ts';
import type { Exchange } from '../http/exchange.ts';

/** Who sends a request. What it sends is read when it is asked for. */
export class RequestCaller implements Caller {
  readonly sender = undefined;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  get client(): string {
    return this.#exchange.client;
  }

  get requestId(): string {
    return this.#exchange.requestId;
  }

  /** RFC 6750 §2.1; undefined for any other scheme. */
  get bearer(): string | undefined {
    return /^bearer +(.+)$/i.exec(this.#exchange.header('authorization') ?? '')?.[1];
  }

  get feedPassword(): string | undefined {
    return this.#exchange.header('x-feed-password');
  }

  get isAborted(): boolean {
    return this.#exchange.isAborted;
  }
}

import type { OnReadOpts, Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { Agent } from 'undici';

type Handler = Extract<NonNullable<S3ClientConfig['requestHandler']>, { handle: unknown }>;
type Request = Parameters<Handler['handle']>[0];
type Response = Awaited<ReturnType<Handler['handle']>>;

interface S3RequestLimits {
  readonly connectMs: number;
  /** A request ends if no byte moves for this long, ms. A slow body, or reader of it, may take any time. */
  readonly stallMs: number;
  readonly sockets: number;
}

const BUFFER_BYTES = 64 * 1024;
/** Buffers kept for the next reads; more go to the garbage collector. */
const KEPT_BUFFERS = 32;

/**
 * Sends the requests of the S3 client with undici, and reads bodies into buffers that are used again and again. The parser of
 * node:http copies each piece of a body into new memory. V8 counts new buffers as memory of its own, so it would start a full
 * garbage collection for each 10 MB of bodies.
 */
export class S3Requests {
  readonly metadata = { handlerProtocol: 'http/1.1' };
  /** How far the store's clock is ahead of ours, ms. */
  clockAhead = 0;
  readonly #agent: Agent;
  readonly #free: Buffer[] = [];
  /** How far each buffer was filled by the last read. */
  readonly #filled = new WeakMap<ArrayBufferLike, number>();

  constructor({ connectMs, stallMs, sockets }: S3RequestLimits) {
    const filled = this.#filled;
    const onread: OnReadOpts = {
      buffer: () => this.#free.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES),
      callback: function (this: Socket, size: number, bytes: Uint8Array) {
        filled.set(bytes.buffer, size);
        return this.push(bytes.subarray(0, size));
      } as OnReadOpts['callback'],
    };
    this.#agent = new Agent({
      connect: { timeout: connectMs, onread },
      connections: sockets,
      allowH2: false,
      headersTimeout: stallMs,
      bodyTimeout: stallMs,
    });
  }

  /** The signal ends the wait for an answer, but no body that has begun. */
  async handle(
    { protocol, hostname, port, path, query, method, headers, body }: Request,
    options: { readonly abortSignal?: unknown } = {},
  ): Promise<Response> {
    const abortSignal = options.abortSignal as AbortSignal | undefined;
    abortSignal?.throwIfAborted();
    const waiting = new AbortController();
    const abort = () => waiting.abort(abortSignal?.reason);
    abortSignal?.addEventListener('abort', abort);
    // Signatures encode spaces as %20.
    const search = new URLSearchParams(query as Record<string, string>).toString().replaceAll('+', '%20');
    try {
      const answer = await this.#agent.request({
        origin: `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`,
        path: search === '' ? path : `${path}?${search}`,
        method: method as 'GET',
        headers,
        body: (body ?? null) as Readable | null,
        signal: waiting.signal,
      });
      const fields = answer.headers as Record<string, string>;
      const date = Date.parse(fields.date ?? '');
      if (!Number.isNaN(date)) this.clockAhead = date - Date.now();
      return { response: { statusCode: answer.statusCode, headers: fields, body: answer.body } };
    } finally {
      abortSignal?.removeEventListener('abort', abort);
    }
  }

  /**
   * Takes the buffer of a piece back, after which nobody may look at the piece. Pieces of a body must be released in
   * their order: the buffer is free when the last one in it is.
   */
  release({ buffer, byteOffset, byteLength }: Uint8Array): void {
    if (this.#filled.get(buffer) !== byteOffset + byteLength) return;
    this.#filled.delete(buffer);
    if (this.#free.length < KEPT_BUFFERS) this.#free.push(Buffer.from(buffer));
  }

  destroy(): void {
    void this.#agent.destroy();
  }
}

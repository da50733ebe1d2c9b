import type { Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { Agent } from 'undici';
import type { ReadBuffers } from './read-buffers.ts';

type Handler = Extract<NonNullable<S3ClientConfig['requestHandler']>, { handle: unknown }>;
type Request = Parameters<Handler['handle']>[0];
type Response = Awaited<ReturnType<Handler['handle']>>;

export interface S3RequestOptions {
  readonly connectMs: number;
  readonly sockets: number;
  /** What sockets read into. */
  readonly buffers: ReadBuffers;
}

/** Sends the requests of the S3 client with undici: the parser of node:http copies each piece of a body into new memory. */
export class S3Requests {
  readonly metadata = { handlerProtocol: 'http/1.1' };
  readonly #agent: Agent;

  constructor({ connectMs, sockets, buffers }: S3RequestOptions) {
    const connect = { timeout: connectMs, onread: buffers.onread };
    // `StallTimeout` limits how long an answer may take.
    this.#agent = new Agent({
      connect,
      connections: sockets,
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  async handle(
    { protocol, hostname, port, path, query, method, headers, body }: Request,
    { abortSignal }: { readonly abortSignal?: unknown } = {},
  ): Promise<Response> {
    // A signature is of spaces as %20.
    const search = new URLSearchParams(query as Record<string, string>).toString().replaceAll('+', '%20');
    const answer = await this.#agent.request({
      origin: `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`,
      path: search === '' ? path : `${path}?${search}`,
      method: method as 'GET',
      headers,
      body: (body ?? null) as Readable | null,
      signal: (abortSignal ?? null) as AbortSignal | null,
    });
    return {
      response: {
        statusCode: answer.statusCode,
        headers: answer.headers as Record<string, string>,
        body: answer.body,
      },
    };
  }

  destroy(): void {
    void this.#agent.destroy();
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { RawConnection, type RawResponse } from '../raw-connection.ts';
import type { FuzzRequest } from './requests.ts';
import { isWhole, wireBytes } from './wire.ts';

/** Longest wait for an answer: several times the longest that the service lets a client wait, for busy machines. */
const PATIENCE_MS = 240_000;
/** How long answers to what is no whole request are waited for. */
const GLANCE_MS = 40;
/** Fields on which `fetch` fails. */
const NOT_FOR_FETCH = /^(connection|expect|upgrade)$/i;

/** A client that keeps its connection as long as it can. */
export class FuzzClient {
  readonly #port: number;
  #connection: RawConnection | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /**
   * Sends a request and gives the answers: one to a whole request, any number to anything else.
   * @throws Error where a whole request has no answer
   */
  async send(request: FuzzRequest): Promise<RawResponse[]> {
    if (!isWhole(request)) return this.#glance(request);
    const fetchable = request.framing === 'fetch' ? fetchRequest(this.#port, request) : undefined;
    return [fetchable ? await fetched(fetchable) : await this.#ask(request)];
  }

  async close(): Promise<void> {
    this.#connection?.close();
    await this.#connection?.closed;
  }

  async #ask(request: FuzzRequest): Promise<RawResponse> {
    const kept = this.#connection;
    const connection = kept ?? (await RawConnection.open(this.#port));
    this.#connection = undefined;
    connection.send(wireBytes(request));
    try {
      const response = await inTime(finalResponse(connection, request.method === 'HEAD'));
      if (connection.isClosed || response.headers.connection === 'close') connection.close();
      else this.#connection = connection;
      return response;
    } catch (cause) {
      connection.close();
      // A kept connection may be closed between two requests, as every client must expect.
      if (kept !== undefined) return this.#ask(request);
      throw new Error('a whole request was not answered', { cause });
    }
  }

  /** Sends the bytes on a connection of their own, glances at the answers and hangs up. */
  async #glance(request: FuzzRequest): Promise<RawResponse[]> {
    const connection = await RawConnection.open(this.#port);
    const answers: RawResponse[] = [];
    connection.send(wireBytes(request));
    const listen = async () => {
      for (;;) answers.push(await finalResponse(connection, request.method === 'HEAD'));
    };
    await Promise.race([listen().catch(() => {}), delay(GLANCE_MS)]);
    connection.close();
    await connection.closed;
    return answers;
  }
}

/** The response after any 1xx ones. */
async function finalResponse(connection: RawConnection, withoutBody: boolean): Promise<RawResponse> {
  for (;;) {
    const response = await connection.response(withoutBody);
    if (response.status >= 200) return response;
  }
}

async function inTime<T>(promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`nothing within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The request for `fetch`; undefined where it takes no such request. */
function fetchRequest(port: number, { method, path, headers, body }: FuzzRequest): Request | undefined {
  if (headers.some(([name]) => NOT_FOR_FETCH.test(name))) return undefined;
  try {
    return new Request(`http://127.0.0.1:${port}${path}`, {
      method,
      redirect: 'manual',
      headers: headers.map(([name, value]): [string, string] => [
        name,
        Buffer.from(value).toString('latin1'),
      ]),
      body: body.length > 0 ? new Uint8Array(body) : null,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

async function fetched(request: Request): Promise<RawResponse> {
  const answer = await fetch(request);
  // It decodes the body, and leaves the field that said how.
  const { 'content-encoding': _, ...headers } = Object.fromEntries(answer.headers);
  return {
    status: answer.status,
    headers,
    body: Buffer.from(await answer.arrayBuffer()),
  };
}

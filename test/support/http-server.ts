import type { Operation } from '../../src/http/exchange.ts';
import { type Headers, headers } from '../../src/http/headers.ts';
import { HttpServer, type ServerOptions } from '../../src/http/server.ts';

export const TEXT: Headers = headers({ 'Content-Type': 'text/plain' });

/** An answer of plain text. */
export function text(status: number, body: string) {
  return { status, headers: TEXT, body: Buffer.from(body) };
}

/** A front end with a test's own operations, closed when the test ends. */
export async function listen(
  t: { teardown(fn: () => unknown): void },
  operations: Operation[],
  options: Partial<ServerOptions> = {},
): Promise<HttpServer> {
  const server = await HttpServer.listen({
    host: '127.0.0.1',
    port: 0,
    trustProxy: false,
    bodyMemory: 64 * 1024 * 1024,
    operations,
    ...options,
  });
  t.teardown(() => server.stop());
  return server;
}

/** What becomes of an answer whose last bytes the client takes at a moment that no client can choose. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { DEFAULT_LIMITS, type Exchange, type ServerContext } from '../../src/http/exchange.ts';
import { headers } from '../../src/http/headers.ts';
import { ResponseWriter } from '../../src/http/response-writer.ts';
import type { HttpResponse } from '../../src/http/uws.ts';
import { eventually } from '../support/eventually.ts';

/** As the binding's: it takes nothing at first, all at the next try, and then must not be touched. */
function response(): HttpResponse {
  let tries = 0;
  const known: Record<string, (...args: never[]) => unknown> = {
    cork: (write: () => void) => write(),
    getWriteOffset: () => 0,
    tryEnd: () => {
      tries += 1;
      return tries === 1 ? [false, false] : [true, true];
    },
  };
  const touch = (_target: object, name: string) => {
    if (tries > 1) throw new Error(`${name} of a response that is gone`);
    return known[name] ?? (() => undefined);
  };
  return new Proxy({}, { get: touch }) as HttpResponse;
}

const bytes = Buffer.alloc(10);
async function* oneChunk(): AsyncIterable<Uint8Array> {
  yield bytes;
}

for (const [kind, body] of [
  ['bytes', () => bytes],
  ['a stream', () => ({ size: bytes.length, chunks: oneChunk() })],
] as const) {
  t.test(
    `${kind}: when a look at slow clients sends the last of it, nothing more is done to it`,
    async (t) => {
      const context = {
        limits: DEFAULT_LIMITS,
        isStopping: false,
        running: new Set(),
      } as unknown as ServerContext;
      const exchange = { isHead: false, method: 'GET', detach: () => {} } as unknown as Exchange;
      const writer = new ResponseWriter(context, response(), exchange, undefined, 0);
      writer.run({ status: 200, headers: headers({}), body: body() });
      await nextTurn();
      t.doesNotThrow(() => writer.tick(performance.now() + 30_000));
      t.ok(await eventually(() => context.running.size === 0));
    },
  );
}

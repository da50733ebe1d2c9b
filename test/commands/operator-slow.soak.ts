/** An answer of the operator's API that takes long, as that of a large image store does. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { operator } from '../support/operator-command.ts';

/** After 300 s Node's own client gives up. */
const ANSWER_MS = 320_000;
const FOUND = { store: 's3', unreferenced: { count: 0, bytes: 0 }, too_recent: 0, missing: 0 };

t.setTimeout(1_200_000);

t.test('an answer is waited for, and nothing is begun twice', async (t) => {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    setTimeout(() => response.end(JSON.stringify(FOUND)), ANSWER_MS);
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { out, ...rest } = await operator(`http://127.0.0.1:${port}`, ['images', 'unreferenced']);
  t.strictSame(rest, { code: 0, err: '' });
  t.strictSame(JSON.parse(out), FOUND);
  t.equal(asked, 1);
});

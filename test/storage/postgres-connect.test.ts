/** A server that ends a connection in the same packet that opens it, as one does that is killed meanwhile. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import t from 'tap';
import { Database } from '../../src/storage/postgres/database.ts';
import { statement } from '../../src/storage/postgres/transaction.ts';

const ONE = statement<object>('one')`SELECT 1`;

/** A message of the server: its type, its length, its contents. */
function message(type: string, contents: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(contents.length + 4);
  return Buffer.concat([Buffer.from(type), length, Buffer.from(contents)]);
}

const AUTHENTICATION_OK = message('R', '\0\0\0\0');
const READY = message('Z', 'I');
const FATAL = message('E', 'SFATAL\0C57P01\0Mterminating connection\0\0');

t.test('requests are refused, and the process goes on', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATION_OK, READY, FATAL])));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const database = new Database(`postgres://notes@127.0.0.1:${(server.address() as AddressInfo).port}/notes`);
  t.teardown(() => database.close());
  await t.rejects(database.read(ONE, []), { code: 'store_unavailable' });
  await t.rejects(database.write(ONE, []), { code: 'store_unavailable' });
});

/** Tables of TCP sockets in procfs (proc(5)). */
import { closeSync, openSync } from 'node:fs';
import { endianness } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import {
  Connections,
  connectionsByClient,
  countSockets,
  maxDescriptors,
} from '../../src/http/connections.ts';
import type { HttpResponse } from '../../src/http/uws.ts';
import { listen, text } from '../support/http-server.ts';
import { RawConnection } from '../support/raw-connection.ts';

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const REST = '00000000:00000000 00:00000000 00000000     0        0 348683 1 0000000029fdfa78 100 0 0 10 0\n';

const onLinux = { skip: process.platform !== 'linux' };

t.test('a table on a machine with the low byte first', { skip: endianness() !== 'LE' }, async (t) => {
  const counts = new Map<string, number>();
  const rows = [
    '   0: 00000000:0BB8 00000000:0000 0A', // listens
    '   1: 0100007F:0BB8 050200C0:D2C4 01',
    '   2: 0100007F:0BB8 050200C0:D2C5 01',
    '   3: 0100007F:0BB8 060200C0:D2C5 06', // is closed
    '  44: 0100007F:0BB9 070200C0:D2C5 01', // of another port
    ' 105: 0100007F:D2C4 0100007F:0BB8 01', // the client's end
  ];
  countSockets(HEAD + rows.map((row) => `${row} ${REST}`).join(''), 3000, counts);
  const rows6 = [
    '   0: 00000000000000000000000000000000:0BB8 B80D0120020001000000000001000000:D2C4 01',
    '   1: 00000000000000000000000000000000:0BB8 B80D0120020001000000000002000000:D2C4 01',
    '   2: 0000000000000000FFFF00000100007F:0BB8 0000000000000000FFFF0000050200C0:D2C4 01',
  ];
  countSockets(HEAD + rows6.map((row) => `${row} ${REST}`).join(''), 3000, counts);
  t.same(Object.fromEntries(counts), { '192.0.2.5': 3, '2001:db8:1:2::/64': 2 });
});

t.test('the table of this machine', onLinux, async (t) => {
  const server = await listen(t, [
    { id: 'hello', method: 'GET', path: '/', handle: () => text(200, 'hello') },
  ]);
  for (const address of ['127.0.0.1', '127.0.0.2', '127.0.0.2']) {
    const connection = await RawConnection.open(server.port, address);
    t.teardown(() => connection.close());
  }
  const counted = async (tables?: string[]) => {
    const counts = await connectionsByClient(server.port, tables);
    return counts instanceof Map ? Object.fromEntries(counts) : counts;
  };
  const expected = { '127.0.0.1': 1, '127.0.0.2': 2 };
  t.same(await counted(), expected);
  t.same(await counted(['/proc/net/tcp', '/proc/net/no-tcp6']), expected, 'without IPv6');
  t.equal(await counted(['/proc/net/no-tcp', '/proc/net/no-tcp6']), undefined, 'on another system');
});

t.test('the limit of a client outlasts a moment without descriptors', onLinux, async (t) => {
  const limit = maxDescriptors()!;
  const connections = new Connections({ descriptors: limit, perClient: 4 });
  const server = await listen(t, []);
  for (let n = 0; n < 5; n += 1) {
    const connection = await RawConnection.open(server.port, '127.0.0.2');
    t.teardown(() => connection.close());
  }
  const res = { getRemoteAddress: () => Uint8Array.of(127, 0, 0, 2).buffer, close: () => {} };
  const accept = () => connections.accept(res as unknown as HttpResponse, server.port);
  const others: number[] = [];
  try {
    for (;;) others.push(openSync('/dev/null', 'r'));
  } catch {
    for (let n = 0; n < 4; n += 1) accept();
    t.equal(connections.refused, 0);
    // The attempt to count them fails in this time.
    await wait(100);
  } finally {
    for (const fd of others) closeSync(fd);
  }
  accept();
  t.equal(connections.refused, 1);
  await wait(1_000);
  accept();
  await wait(100);
  accept();
  t.equal(connections.refused, 3, 'also when the kernel can be asked again');
});

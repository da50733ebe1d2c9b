/** An address that cannot be listened on is explained. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import t from 'tap';
import { ServiceProcess } from '../support/service-process.ts';

t.test('why nothing can listen at an address', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => other.close());
  const used = (other.address() as { port: number }).port;
  for (const [HOST, port, reason] of [
    ['nosuchhost.invalid', 0, /(there is no address|the address) of that name/],
    // Of a network for documentation (RFC 5737).
    ['192.0.2.1', 0, /: this machine has no such address$/m],
    ['127.0.0.1', used, /: another program uses it$/m],
  ] as const) {
    const service = await ServiceProcess.launch(t, { env: { HOST, PORT: String(port) } });
    t.match(await service.exit, { code: 1 });
    t.match(service.errors, `Note Feed cannot start: cannot listen on ${HOST} port ${port}: `);
    t.match(service.errors, reason);
  }
});

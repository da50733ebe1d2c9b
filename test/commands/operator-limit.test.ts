import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import t from 'tap';
import { OperatedService } from '../../src/commands/operator/operated-service.ts';
import { OPERATOR_TOKEN } from '../support/image-settings.ts';

t.test('a service that takes requests and does not answer is given up, and not asked again', async (t) => {
  let connections = 0;
  const mute = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {}).resume();
    t.teardown(() => socket.destroy());
  });
  await once(mute.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => mute.close());
  const url = `http://127.0.0.1:${(mute.address() as AddressInfo).port}`;
  const env = { SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN, OPERATOR_URL: url };
  for (const [path, limits] of [
    ['/stats', { images: 1e9, others: 600 }],
    ['/images/unreferenced', { images: 600, others: 1e9 }],
  ] as const)
    await t.rejects(new OperatedService(env, limits).ask('GET', path), {
      message: `The service at ${url} has not answered within 0.01 minutes. It may do what was asked all the same.`,
    });
  t.equal(connections, 2);
});

import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
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
    ['/stats', { images: 1e9, others: 600, pause: 0 }],
    ['/images/unreferenced', { images: 600, others: 1e9, pause: 0 }],
  ] as const)
    await t.rejects(new OperatedService(env, limits).ask('GET', path), {
      message: `The service at ${url} has not answered within 0.01 minutes. It may do what was asked all the same.`,
    });
  t.equal(connections, 2);
});

t.test('work on pictures gets through a proxy that gives up waiting, however often it does', async (t) => {
  let asked = 0;
  const proxy = createHttpServer(({ url }, answer) => {
    asked += 1;
    if (asked === 20) answer.end('{"missing":0}');
    else
      answer
        .writeHead(url!.endsWith('/stats') ? 502 + (asked % 3) : 504)
        .end('<h1>504 Gateway Time-out</h1>');
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => proxy.close());
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const env = { SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN, OPERATOR_URL: url };
  const service = new OperatedService(env, { images: 1e9, others: 1e9, pause: 0 });
  t.strictSame(await service.ask('GET', '/images/unreferenced'), { missing: 0 });
  t.equal(asked, 20);
  await t.rejects(service.ask('GET', '/stats'), { message: /^The service refuses \(503 \)/ });
  t.equal(asked, 25, 'five times of what takes no long time');
  const impatient = new OperatedService(env, { images: 600, others: 1e9, pause: 0 });
  await t.rejects(impatient.ask('GET', '/images/unreferenced'), { message: /has not answered within 0.01/ });
});

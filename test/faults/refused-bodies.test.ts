/** Bodies that are refused while they are on their way, by a service in a process of its own: one loop would hide it. */
import t from 'tap';
import { RawConnection } from '../support/raw-connection.ts';
import { ServiceProcess } from '../support/service-process.ts';

const MIB = 1024 * 1024;
const TRIES = 4;

t.test('a client that is still sending what is refused gets the answer', async (t) => {
  const { port } = await ServiceProcess.start(t, { env: { SERVICE_PASSWORD: 'hush' } });
  for (const [type, right, status] of [
    ['image/png', 'wrong', 401],
    ['image/svg+xml', 'hush', 415],
    ['image/png', 'hush', 413],
  ] as const) {
    const statuses = [];
    for (let i = 0; i < TRIES; i++) {
      const connection = await RawConnection.open(port);
      const body = Buffer.alloc((i + 1) * 10 * MIB);
      const head = `POST /plover HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${right}\r\nContent-Type: ${type}\r\n`;
      connection.send(`${head}Content-Length: ${body.length}\r\n\r\n`);
      connection.send(body);
      statuses.push(await connection.response().then((response) => response.status, String));
      connection.close();
    }
    t.same(statuses, Array(TRIES).fill(status), `${type} by ${right}`);
  }
});

/** A process with few descriptors and more connections than it can take. */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { handlesOf } from '../support/inspected-process.ts';
import { missing, program } from '../support/installed.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { ServiceProcess } from '../support/service-process.ts';

const HOST = 'Host: test\r\n';
const DESCRIPTORS = 200;
/** A third of so few is reserved, and each connection may need two; one client may have half. */
const MOST = 66;
const OF_CLIENT = 33;
const ATTEMPTS = 300;

/** Only Linux has the program, and says what the limit is. */
const onLinux = { skip: missing('prlimit') };

function start(t: Test, env: Record<string, string>): Promise<ServiceProcess> {
  const flags = [`--nofile=${DESCRIPTORS}`, process.execPath];
  return ServiceProcess.start(t, { env, node: program('prlimit'), flags });
}

/** Opens connections as a client, of which the service keeps `most`: at first perhaps less, as it counts with a delay. */
async function openMany(t: Test, { port }: ServiceProcess, client: string, most: number) {
  const connections: RawConnection[] = [];
  t.teardown(() => {
    for (const connection of connections) connection.close();
  });
  const open = async () => {
    const connection = await RawConnection.open(port, client).catch(() => undefined);
    if (connection !== undefined) connections.push(connection);
  };
  const kept = () => connections.filter(({ isClosed }) => !isClosed);
  for (let i = 0; i < ATTEMPTS; i++) await open();
  t.ok(await eventually(() => kept().length <= most), `at most ${most} are kept`);
  const isFull = async () => {
    if (kept().length < most) await open();
    return kept().length === most;
  };
  t.ok(await eventually(isFull), `${most} are kept`);
  return kept();
}

async function ask(connection: RawConnection, request: string) {
  connection.send(request);
  const { status, body } = await connection.response();
  return { status, body: JSON.parse(body.toString()) };
}

function note(): string {
  return `POST /feed HTTP/1.1\r\n${HOST}Content-Type: text/markdown\r\nContent-Length: 2\r\n\r\nhi`;
}

t.test('one client cannot take all connections', onLinux, async (t) => {
  const service = await start(t, {});
  const kept = await openMany(t, service, '127.0.0.1', OF_CLIENT);
  t.ok(handlesOf(service) < DESCRIPTORS - MOST, 'descriptors are left');
  // The last one, because one without a request is closed after ten seconds.
  t.match(await ask(kept.at(-1)!, note()), { status: 201 }, 'and may post');
  const other = await RawConnection.open(service.port, '127.0.0.2');
  t.teardown(() => other.close());
  t.match(await ask(other, note()), { status: 201 }, 'as may others');
  t.match(await ask(other, `GET /health/ready HTTP/1.1\r\n${HOST}\r\n`), { status: 200 });
  for (const connection of kept) connection.close();
  t.ok(
    await eventually(async () => {
      const again = await RawConnection.open(service.port);
      const answer = ask(again, note()).catch(() => undefined);
      return (await answer)?.status === 201;
    }),
    'whoever closes connections may open others',
  );
});

t.test('a setting says how many connections one client may have', onLinux, async (t) => {
  const service = await start(t, { SERVICE_MAX_CONNECTIONS_PER_CLIENT: '5' });
  await openMany(t, service, '127.0.0.1', 5);
  await openMany(t, service, '127.0.0.3', 5);
});

t.test('all connections together leave descriptors for the storage', onLinux, async (t) => {
  const service = await start(t, { SERVICE_TRUST_PROXY: '1' });
  const kept = await openMany(t, service, '127.0.0.1', MOST);
  const last = kept.at(-1)!;
  t.match(await ask(last, note()), { status: 201 });
  const ready = `GET /health/ready HTTP/1.1\r\n${HOST}\r\n`;
  t.match(await ask(last, ready), { status: 503 }, 'requests should go elsewhere');
  for (const connection of kept.slice(0, -1)) connection.close();
  t.ok(await eventually(async () => (await ask(last, ready)).status === 200), 'until there is room');
});

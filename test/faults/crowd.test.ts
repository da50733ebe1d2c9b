/** A thousand connections at once, some of them with bytes that are no HTTP. */
import { randomBytes, randomInt } from 'node:crypto';
import { readdirSync } from 'node:fs';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection, type RawResponse } from '../support/raw-connection.ts';
import { ask, post } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const CONNECTIONS = 1_000;
/** One connection in this many brings garbage. */
const GARBAGE_PART = 5;
const FEEDS = 20;
const PICTURE = picture('gif', 30_000);
const POST_NOISE = 'POST /noise HTTP/1.1\r\nHost: test\r\nContent-Type: text/markdown\r\n';

/** What no server should take for a note: the bytes, and whether the client hangs up right after them. */
const GARBAGE: readonly (() => { bytes: string | Buffer; hangsUp?: true })[] = [
  () => ({ bytes: randomBytes(randomInt(1, 5_000)) }),
  () => ({ bytes: Buffer.concat([Buffer.from([0x16, 3, 1, 2, 0, 1]), randomBytes(512)]) }),
  () => ({ bytes: 'GET / HTTP/9.9\r\n\r\n' }),
  () => ({ bytes: '\r\n'.repeat(2_000) }),
  () => ({ bytes: 'GET /%zz HTTP/1.1\r\nHost: test\r\n\r\n' }),
  () => ({ bytes: `GET / HTTP/1.1\r\nHost: test\r\nX: ${'x'.repeat(50_000)}\r\n\r\n` }),
  () => ({ bytes: `${POST_NOISE}Content-Length: -1\r\n\r\nnoise` }),
  () => ({ bytes: `${POST_NOISE}Content-Length: 99999999999999999999\r\n\r\nnoise` }),
  () => ({ bytes: `${POST_NOISE}Content-Length: 5\r\nContent-Length: 6\r\n\r\nnoise!` }),
  () => ({ bytes: `${POST_NOISE}Transfer-Encoding: chunked\r\n\r\nzz\r\nnoise\r\n0\r\n\r\n` }),
  () => ({
    bytes: Buffer.concat([Buffer.from(`${POST_NOISE}Content-Length: 4\r\n\r\n`), Buffer.alloc(4, 255)]),
  }),
  () => ({ bytes: `${POST_NOISE}Content-Length: 50000\r\n\r\nhalf a note`, hangsUp: true }),
  () => ({ bytes: `${POST_NOISE}Transfer-Encoding: chunked\r\n\r\n5\r\nnoi`, hangsUp: true }),
  () => ({ bytes: `${POST_NOISE}Content-Le`, hangsUp: true }),
];

/** Posts a note and reads the feed in three ways, all on one connection; returns the statuses. */
async function postAndRead(connection: RawConnection, number: number): Promise<number[]> {
  const feed = `feed-${number % FEEDS}`;
  const [type, body] = number % 2 ? ['image/gif', PICTURE] : ['text/markdown', Buffer.from(`note ${number}`)];
  connection.send(
    `POST /${feed} HTTP/1.1\r\nHost: test\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  connection.send(body);
  const posted = await connection.response();
  if (posted.status !== 201) return [posted.status];
  const { file_url, read_url } = JSON.parse(posted.body.toString());
  const paths = [`/api/v1/feeds/${feed}/notes`, new URL(read_url).pathname, new URL(file_url).pathname];
  const replies: RawResponse[] = [];
  for (const path of paths) {
    connection.send(`GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`);
    replies.push(await connection.response());
  }
  const isWhole = replies.at(-1)?.body.equals(body) ?? false;
  return [posted.status, ...replies.map(({ status }) => status), isWhole ? 0 : -1];
}

/** Sends garbage; returns the status of the answer, or `closed`. */
async function makeNoise(connection: RawConnection, number: number): Promise<number | 'closed'> {
  const { bytes, hangsUp } = GARBAGE[number % GARBAGE.length]!();
  connection.send(bytes);
  if (hangsUp) connection.close();
  return connection.response().then(
    ({ status }) => status,
    () => 'closed' as const,
  );
}

const openFiles = (service: ServiceProcess) => readdirSync(`/proc/${service.pid}/fd`).length;

const onLinux = process.platform === 'linux' ? {} : { skip: 'open files are counted in /proc' };

t.test('a crowd is served, its noise is refused, and nothing of it stays', onLinux, async (t) => {
  const service = await ServiceProcess.start(t, { env: { SERVICE_LOG_REQUESTS: '1' } });
  const warmUp = await RawConnection.open(service.port);
  for (let number = 0; number < 2 * FEEDS; number++) await postAndRead(warmUp, number);
  warmUp.close();
  await warmUp.closed;
  const before = openFiles(service);

  const connections = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => RawConnection.open(service.port)),
  );
  t.ok(await eventually(() => openFiles(service) > before + CONNECTIONS / 2), 'they are all there at once');
  const isNoisy = (_: unknown, number: number) => number % GARBAGE_PART === 0;
  const noisy = connections.filter(isNoisy);
  const good = connections.filter((one, number) => !isNoisy(one, number));
  const noise = Promise.all(noisy.map(makeNoise));
  const served = await Promise.all(good.map(postAndRead));
  t.same([...new Set(served.map(String))], ['201,200,200,200,0'], 'everybody is served');
  for (const connection of connections) connection.close();
  const answers = [...new Set(await noise)].sort();
  t.comment(`noise is answered with ${answers.join(', ')}`);
  t.ok(
    answers.every((answer) => answer === 'closed' || (answer >= 400 && answer <= 431) || answer === 505),
    'noise is refused, and no error of ours',
  );

  t.ok(await eventually(() => openFiles(service) <= before), 'every file and socket is closed');
  t.ok(service.isRunning, 'the process lives');
  t.same(
    service.lines.filter(({ level }) => level === 'error'),
    [],
    'and has nothing to complain of',
  );
  t.equal((await ask(`${service.url}/api/v1/feeds/noise`)).status, 404, 'no noise became a note');
  let notes = 0;
  for (let number = 0; number < FEEDS; number++)
    notes += (await ask(`${service.url}/api/v1/feeds/feed-${number}/notes?limit=100`)).json.notes.length;
  t.equal(notes, 2 * FEEDS + good.length, 'every note is listed once');
  t.equal((await post(`${service.url}/feed-0`, 'x')).status, 201);
});

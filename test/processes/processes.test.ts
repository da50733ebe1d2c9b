/** Several processes of one service on one port, as clients see them. */
import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { untilAllKnow } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { PostgresServer } from '../support/postgres.ts';
import { askAnew, metric, pidsThatSay, postAnew, startProcesses } from '../support/processes.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const server = await PostgresServer.start(t);
const POSTS = 'service_http_request_duration_seconds_count';
const OF_POSTS = /operation="postNoteByUrl",status="2xx"/;

async function start(t: Test, env: Record<string, string> = {}): Promise<ServiceProcess> {
  return startProcesses(t, await server.database(), { env: { SERVICE_METRICS: '1', ...env } });
}

/** Posts on new connections until as many processes have answered; gives how many posts that took. */
async function postToAll(service: ServiceProcess, feed: string, processes = 2): Promise<number> {
  const have = pidsThatSay(service, 'note posted');
  let posted = 0;
  await eventually(async () => {
    posted += 1;
    if ((await postAnew(service, feed, `note ${posted}`)).status !== 201) throw new Error('not stored');
    return pidsThatSay(service, 'note posted').length >= have.length + processes;
  });
  return posted;
}

t.test('posts and reads on many connections reach all processes, which have one log', async (t) => {
  const service = await start(t);
  const posted = await postToAll(service, 'curlew');
  const list = `${service.url}/api/v1/feeds/curlew/notes?limit=100`;
  for (let i = 0; i < 10; i += 1) {
    const { notes } = JSON.parse((await askAnew(list)).text);
    t.equal(notes[0].content, `note ${posted}`);
    // The log comes late on a busy machine, and there are more posts until then.
    t.equal(notes.length, Math.min(posted, 100), 'every process shows all notes');
  }
  t.equal(await service.kill('SIGTERM').then(({ code }) => code), 0);
  const pids = pidsThatSay(service, 'started');
  t.equal(pids.length, 2);
  t.strictSame(new Set(pidsThatSay(service, 'note posted')), new Set(pids));
  t.match(
    service.lines.filter(({ pid }) => pid === undefined),
    [{ msg: 'starting' }, { msg: 'started', url: service.url, processes: 2 }, {}, {}, { msg: 'stopped' }],
    'the supervisor has few lines, and no process',
  );
  t.equal(service.lines.filter(({ msg }) => msg === 'stopped').length, 3);
});

t.test('one answer has the metrics of all processes', async (t) => {
  const service = await start(t, { SERVICE_METRICS_TOKEN: 'numbers' });
  t.equal((await askAnew(`${service.url}/metrics`)).status, 401);
  const posted = await postToAll(service, 'dunlin');
  for (let i = 0; i < 4; i += 1) {
    const { text } = await askAnew(`${service.url}/metrics`, {
      headers: { authorization: 'Bearer numbers' },
    });
    t.match(text, new RegExp(`^${POSTS}\\{operation="postNoteByUrl",status="2xx"\\} ${posted}$`, 'm'));
    t.match(text, /^service_build_info\{.*\} 1$/m);
    t.match(text, /^service_storage_up 1$/m);
    for (const pid of pidsThatSay(service, 'started'))
      for (const name of ['process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds'])
        t.match(text, new RegExp(`^${name}\\{pid="${pid}"\\} \\d`, 'm'));
    t.notMatch(text, 'dunlin');
  }
});

t.test('a process that is killed is replaced, and others go on', async (t) => {
  const service = await start(t);
  const posted = await postToAll(service, 'knot');
  t.equal(await metric(service, POSTS, OF_POSTS), posted);
  const [killed, other] = pidsThatSay(service, 'started') as [number, number];
  const postsOf = (...pids: number[]) =>
    service.lines.filter(({ msg, pid }) => msg === 'note posted' && pids.includes(Number(pid))).length;
  t.ok(await eventually(() => postsOf(killed, other) === posted));
  const known = postsOf(killed);
  const connection = await connectionTo(t, service, other);
  let isOver = false;
  const lost: unknown[] = [];
  const load = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!isOver) await postAnew(service, 'knot', 'more').catch((error) => lost.push(error.code));
    }),
  );
  process.kill(killed, 'SIGKILL');
  /** Asks on the connection to the other process, which would be closed if it had nothing to do for ten seconds. */
  const isOpen = async () => {
    connection.send('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    return (await connection.response()).status === 200;
  };
  t.ok(await eventually(async () => (await isOpen()) && pidsThatSay(service, 'started').length === 3));
  const [, , fresh] = pidsThatSay(service, 'started') as number[];
  t.ok(
    await eventually(async () => (await isOpen()) && pidsThatSay(service, 'note posted').includes(fresh!)),
    'the new one gets posts',
  );
  isOver = true;
  await load;
  t.match(
    service.lines.filter(({ msg }) => msg === 'a process ended'),
    [{ level: 'error', pid: killed, how: 'by SIGKILL' }],
  );
  t.same(
    lost.filter((code) => code !== 'ECONNRESET' && code !== 'EPIPE'),
    [],
    'only its own connections broke',
  );
  t.ok(await isOpen(), 'that of the other process is still open');
  const isCounted = async () => (await metric(service, POSTS, OF_POSTS)) === known + postsOf(other, fresh!);
  t.ok(await eventually(isCounted), 'what it had counted stays counted');
});

t.test('a client may write as much as with one process', async (t) => {
  const limit = 60;
  const database = await server.database();
  const service = await startProcesses(t, database, { env: { SERVICE_RATE_LIMIT: String(limit) } });
  await untilAllKnow(server, database, 2);
  const statuses: number[] = [];
  for (let i = 0; i < 2 * limit; i += 1) statuses.push((await postAnew(service, 'snipe', 'note')).status);
  const stored = statuses.filter((status) => status === 201).length;
  t.ok(stored >= 0.9 * limit && stored <= 1.1 * limit, `${stored} of ${limit}`);
  t.strictSame(new Set(statuses), new Set([201, 429]));
});

t.test('the limit of connections of a client is for all processes together', async (t) => {
  const service = await start(t, { SERVICE_MAX_CONNECTIONS_PER_CLIENT: '4' });
  const pids = pidsThatSay(service, 'started');
  for (const pid of [...pids, ...pids]) await connectionTo(t, service, pid);
  const isRefused = async () => {
    return askAnew(`${service.url}/health`).then(
      () => false,
      () => true,
    );
  };
  t.ok(await eventually(isRefused), 'two in each process are four');
});

t.test('a stop lets requests of all processes finish', async (t) => {
  const service = await start(t);
  const pids = pidsThatSay(service, 'started');
  const posts = await Promise.all(pids.map((pid) => connectionTo(t, service, pid)));
  const body = 'slow note';
  for (const post of posts)
    post.send(
      `POST /plover HTTP/1.1\r\nHost: x\r\nContent-Type: text/markdown\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 4)}`,
    );
  service.signal('SIGTERM');
  t.ok(await eventually(() => pidsThatSay(service, 'stopping').length === 2));
  for (const post of posts) post.send(body.slice(4));
  for (const post of posts) t.equal((await post.response()).status, 201);
  t.strictSame(await service.exit, { code: 0, signal: null });
  const socket = connect(service.port, '127.0.0.1');
  t.match(await once(socket, 'error'), [{ code: 'ECONNREFUSED' }]);
});

t.test('processes end with their supervisor', async (t) => {
  const service = await start(t);
  const pids = pidsThatSay(service, 'started');
  service.signal('SIGKILL');
  t.ok(await eventually(() => pids.every((pid) => !isAlive(pid))));
});

t.test('SIGHUP replaces all processes, one after the other', async (t) => {
  const service = await start(t);
  const before = pidsThatSay(service, 'started');
  const posted = await postToAll(service, 'ruff');
  t.equal(await metric(service, POSTS, OF_POSTS), posted);
  const connections = await Promise.all(before.map((pid) => connectionTo(t, service, pid)));
  const { read_url: page } = JSON.parse((await postAnew(service, 'ruff', 'last')).text);
  service.signal('SIGHUP');
  const drained: number[] = [];
  /** Sends requests on a connection until it is told to stop, because the service closes one without requests after ten seconds. */
  const askUntilClosed = async (connection: RawConnection, pid: number) => {
    const isLast = async () => {
      connection.send(`GET ${new URL(page).pathname} HTTP/1.1\r\nHost: x\r\n\r\n`);
      const { status, headers } = await connection.response();
      t.equal(status, 200);
      return headers.connection === 'close';
    };
    t.ok(await eventually(isLast), 'it drains');
    drained.push(pid);
    await connection.closed;
  };
  await Promise.all(connections.map((connection, i) => askUntilClosed(connection, before[i]!)));
  t.same(drained, before, 'one after the other');
  await service.says('restarted');
  const after = pidsThatSay(service, 'started').filter((pid) => !before.includes(pid));
  t.equal(after.length, 2);
  t.notOk(before.some(isAlive));
  t.ok(after.every(isAlive));
  t.equal(await metric(service, POSTS, OF_POSTS), posted + 1, 'nothing that was counted is lost');
  t.equal((await postAnew(service, 'ruff', 'new')).status, 201);
  t.match(
    service.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

t.test('a start that fails says why once', async (t) => {
  const first = await start(t);
  const settings = {
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: server.url('missing'),
    SERVICE_SECRET: 'a secret that is long enough for it',
    SERVICE_PROCESSES: '2',
  };
  for (const [env, why] of [
    [{ PORT: String(first.port) }, `cannot listen on 127.0.0.1 port ${first.port}: another program uses it`],
    [{ PORT: '0' }, /SERVICE_DATABASE_URL cannot be used \(3D000: no such database\)/],
    [
      { SERVICE_STORAGE: 'sqlite', SERVICE_DATABASE_URL: '' },
      /^SERVICE_PROCESSES must be 1 where SERVICE_STORAGE is sqlite/,
    ],
  ] as const) {
    const failed = await ServiceProcess.launch(t, { env: { ...settings, ...env } });
    t.strictSame(await failed.exit, { code: 1, signal: null });
    t.match(failed.errors, why);
    t.equal(failed.errors.split('\n').length, 2, failed.errors);
  }
});

/** A connection that is kept, to the process of that id. */
async function connectionTo(t: Test, service: ServiceProcess, pid: number): Promise<RawConnection> {
  for (;;) {
    const connection = await RawConnection.open(service.port);
    connection.send('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    // One beyond a limit is closed.
    const id = (await connection.response().catch(() => undefined))?.headers['x-request-id'];
    const line = () => service.lines.find(({ request }) => request === id);
    if (id !== undefined) await eventually(() => line() !== undefined);
    if (id !== undefined && line()?.pid === pid) {
      t.teardown(() => connection.close());
      return connection;
    }
    connection.close();
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

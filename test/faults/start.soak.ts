/** Starts that must be refused in plain words, stops that must lose nothing, and a log that nobody reads. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync, readSync } from 'node:fs';
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { ask, post, tempDir } from '../support/service.ts';
import { dataDir, type ProcessOptions, ServiceProcess } from '../support/service-process.ts';
import { CANNOT_MOUNT, makeReadOnly, smallDisk } from '../support/small-disk.ts';

t.setTimeout(600_000);

const SYSTEM_NODE = '/usr/bin/node';
const MIB = 1024 * 1024;

/** The lines with which a start is refused; each ends with a line break. */
async function refusal(t: Test, options: ProcessOptions): Promise<string[]> {
  const service = await ServiceProcess.launch(t, options);
  t.same(await service.exit, { code: 1, signal: null });
  t.same(
    service.lines.filter(({ level, msg }) => level !== 'warn' && msg !== 'starting'),
    [],
    'standard output is for the log',
  );
  t.match(service.errors, /\n$/);
  return service.errors.split('\n').slice(0, -1);
}

/** The one line with which a start is refused. */
async function oneLine(t: Test, options: ProcessOptions): Promise<string> {
  const lines = await refusal(t, options);
  t.equal(lines.length, 1, 'one line');
  return lines[0] as string;
}

t.test('a second process on one DATA_DIR', async (t) => {
  const first = await ServiceProcess.start(t);
  t.match(await oneLine(t, { dir: first.dir }), /^Note Feed cannot start: .*DATA_DIR\) is in use/);
  t.equal((await post(`${first.url}/feed`, 'x')).status, 201, 'the first goes on');
  await first.kill('SIGKILL');
  const next = await ServiceProcess.start(t, { dir: first.dir });
  t.equal((await ask(`${next.url}/api/v1/feeds/feed/notes`)).json.notes.length, 1);
});

t.test('a .secret that is too short', async (t) => {
  const dir = await dataDir(t);
  await mkdir(dir);
  await writeFile(join(dir, '.secret'), 'hush-hush\n');
  const line = await oneLine(t, { dir });
  t.match(line, /^Note Feed cannot start: The file \.secret .* shorter than 32 bytes/);
  t.notMatch(line, 'hush-hush');
  const env = { SERVICE_SECRET: 'a secret of tests that is long enough' };
  await ServiceProcess.start(t, { dir, env });
});

t.test('several wrong settings', async (t) => {
  const lines = await refusal(t, {
    env: {
      PORT: '99999',
      DATA_DIR: '/',
      SERVICE_SECRET: 'hush-hush',
      SERVICE_MAX_IMAGE_BYTES: 'five',
      SERVICE_LOG_LEVEL: 'loud',
      SERVICE_LOG_REQUESTS: 'yes',
    },
  });
  t.match(lines.sort(), [
    /^DATA_DIR must be .*\/$|^DATA_DIR must be /,
    /^PORT must be .*99999/,
    /^SERVICE_LOG_LEVEL must be one of .*loud/,
    /^SERVICE_LOG_REQUESTS must be 1 \(on\) or 0 \(off\)/,
    /^SERVICE_MAX_IMAGE_BYTES must be .*five/,
    /^SERVICE_SECRET must be at least 32 bytes long$/,
  ]);
  t.equal(lines.length, 6, 'one line each');
  t.notMatch(lines.join(), 'hush-hush');
});

t.test('a port in use', async (t) => {
  const { port } = await ServiceProcess.start(t);
  const line = await oneLine(t, { env: { PORT: String(port) } });
  t.match(line, new RegExp(`^Note Feed cannot start: cannot listen on 127.0.0.1 port ${port}: `));
});

t.test('the same port and folder again, right after a kill with connections open', async (t) => {
  const env = { PORT: String(await freePort()) };
  const first = await ServiceProcess.start(t, { env });
  const { dir, port } = first;
  const kept = await RawConnection.open(port);
  t.equal(await ready(kept), 200);
  await first.kill('SIGKILL');
  const next = await ServiceProcess.start(t, { dir, env });
  t.equal((await ask(`${next.url}/health/ready`)).status, 200);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

t.test('a DATA_DIR that is a file', async (t) => {
  const dir = await dataDir(t);
  await writeFile(dir, '');
  t.match(
    await oneLine(t, { dir }),
    /^Note Feed cannot start: DATA_DIR=\S+ cannot be used by user \d+ \((EEXIST|ENOTDIR): not a folder\)\.$/,
  );
});

const hasProc = { skip: existsSync('/proc/self') ? false : 'there is no /proc' };

t.test('a DATA_DIR where nothing can be made', hasProc, async (t) => {
  for (const [dir, why] of [
    ['/proc/x', 'ENOENT: no such folder'],
    ['/proc/x/y', 'ENOENT: no such folder'],
    ['/dev/null/x', 'ENOTDIR: not a folder'],
  ] as const) {
    const line = await oneLine(t, { dir });
    t.match(line, `Note Feed cannot start: DATA_DIR=${dir} cannot be used by user `);
    t.match(line, ` (${why}).`);
  }
});

t.test('a DATA_DIR that the service makes is its own, and others are told of', async (t) => {
  const dir = join(await dataDir(t), 'not', 'there');
  const isTold = ({ lines }: ServiceProcess) =>
    lines.some(
      ({ level, msg }) => level === 'warn' && String(msg).startsWith(`DATA_DIR=${dir} can be read by others`),
    );
  const first = await ServiceProcess.start(t, { dir });
  t.equal((await stat(dir)).mode & 0o777, 0o700);
  t.equal(
    (await stat(join(dir, '..'))).mode & 0o777,
    0o777 & ~process.umask(),
    'not so the folders above it',
  );
  await first.kill('SIGTERM');
  t.notOk(isTold(first));
  for (const mode of [0o701, 0o740, 0o755]) {
    await chmod(dir, mode);
    const next = await ServiceProcess.start(t, { dir });
    await next.kill('SIGTERM');
    t.ok(isTold(next), mode.toString(8));
    t.equal((await stat(dir)).mode & 0o777, mode, 'what is there is left as it is');
  }
});

t.test('a DATA_DIR that cannot be written', { skip: CANNOT_MOUNT }, async (t) => {
  const dir = await smallDisk(t, '1m');
  makeReadOnly(t, dir);
  t.match(
    await oneLine(t, { dir }),
    /^Note Feed cannot start: DATA_DIR=\S+ cannot be used by user \d+ \(EROFS: it can only be read\)\.$/,
  );
});

t.test('with PostgreSQL no DATA_DIR is made', async (t) => {
  const dir = await dataDir(t);
  const env = {
    SERVICE_STORAGE: 'postgres',
    SERVICE_DATABASE_URL: 'postgres://me@127.0.0.1:1/notes',
    SERVICE_SECRET: 'a secret of tests that is long enough',
  };
  t.match(await oneLine(t, { dir, env }), /ECONNREFUSED/);
  t.notOk(existsSync(dir));
});

t.test('the Node of the system', { skip: isNode20() ? false : `${SYSTEM_NODE} is not 20` }, async (t) => {
  const line = await oneLine(t, { node: SYSTEM_NODE });
  t.match(line, /^Note Feed needs Node >=22[.\d]+ and this is 20\./);
});

function isNode20(): boolean {
  try {
    return execFileSync(SYSTEM_NODE, ['--version'], { encoding: 'utf8' }).startsWith('v20.');
  } catch {
    return false;
  }
}

const PICTURE = picture('png', 2 * MIB);

/** A service that is in the middle of taking a picture, and a connection kept from an earlier request. */
async function receiving(t: Test) {
  const service = await ServiceProcess.start(t);
  const [upload, kept] = [await RawConnection.open(service.port), await RawConnection.open(service.port)];
  t.teardown(() => [upload, kept].map((connection) => connection.close()));
  upload.send(
    `POST /feed HTTP/1.1\r\nHost: test\r\nContent-Type: image/png\r\nContent-Length: ${PICTURE.length}\r\n\r\n`,
  );
  upload.send(PICTURE.subarray(0, MIB));
  t.equal(await ready(kept), 200);
  return { service, upload, kept };
}

async function ready(connection: RawConnection): Promise<number> {
  connection.send('GET /health/ready HTTP/1.1\r\nHost: test\r\n\r\n');
  return (await connection.response()).status;
}

t.test('a stop waits for what is being uploaded', async (t) => {
  const { service, upload, kept } = await receiving(t);
  service.signal('SIGTERM');
  await service.says('stopping');
  t.equal(await ready(kept), 503, 'readiness, on a connection that was kept');
  await t.rejects(RawConnection.open(service.port), { code: 'ECONNREFUSED' }, 'no new connections');
  upload.send(PICTURE.subarray(MIB));
  const { status, body } = await upload.response();
  t.equal(status, 201);
  t.same(await service.exit, { code: 0, signal: null });
  t.match(service.lines.at(-1), { msg: 'stopped' });

  const next = await ServiceProcess.start(t, { dir: service.dir });
  const { pathname } = new URL(JSON.parse(body.toString()).file_url);
  t.ok((await ask(next.url + pathname)).bytes.equals(PICTURE), 'it is there');
});

t.test('a second signal ends it at once', async (t) => {
  const { service } = await receiving(t);
  service.signal('SIGTERM');
  await service.says('stopping');
  service.signal('SIGINT');
  t.same(await service.exit, { code: 1, signal: null });
  const next = await ServiceProcess.start(t, { dir: service.dir });
  t.equal((await ask(`${next.url}/api/v1/feeds/feed`)).status, 404, 'what was half uploaded is not there');
});

t.test('a log that nobody reads', async (t) => {
  const pipe = join(await tempDir(t), 'log');
  execFileSync('mkfifo', [pipe]);
  // Both ends in one, so that opening it does not wait; the service must see to it that writing does not either.
  const stdout = openSync(pipe, constants.O_RDWR);
  t.teardown(() => closeSync(stdout));
  const service = await ServiceProcess.start(t, { stdout, env: { SERVICE_LOG_REQUESTS: '1' } });
  const statuses = await Promise.all(Array.from({ length: 20 }, () => requests(service.port, 300)));
  t.same([...new Set(statuses.flat())], [200], '6,000 requests are answered');
  t.equal((await post(`${service.url}/feed`, 'x')).status, 201, 'and notes are taken');
  t.same(await service.kill('SIGTERM'), { code: 0, signal: null }, 'and it stops as always');
  const held = readSync(stdout, Buffer.alloc(MIB));
  t.ok(held > 4096 && held < 6_000 * 50, `the pipe was full all the time, with ${held} bytes`);
});

/** Asks one after the other on one connection; returns the statuses. */
async function requests(port: number, count: number): Promise<number[]> {
  const connection = await RawConnection.open(port);
  const statuses: number[] = [];
  while (statuses.length < count) {
    connection.send('GET /health HTTP/1.1\r\nHost: test\r\n\r\n');
    statuses.push((await connection.response()).status);
  }
  connection.close();
  return statuses;
}

/** What slow readers of pictures cost, however many there are and whatever they read. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t, { type Test } from 'tap';
import { eventually, settled } from '../support/eventually.ts';
import { exactly } from '../support/exact-request.ts';
import { picture } from '../support/pictures.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, post, start } from '../support/service.ts';
import { zipOf } from '../support/zips.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const MIB = 1024 * 1024;
/** More than the system keeps of a connection. */
const PICTURE_BYTES = 12 * MIB;
const READERS = 12;
/** As in `http/stored-body.ts`. */
const SLOW_MS = 200;
const CACHE_BYTES = 4 * PICTURE_BYTES + MIB;

/** Memory of buffers that are in use, bytes. */
function buffersInUse(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

/** A reader who takes nothing more once the answer begins. */
async function stalledReader(url: string, range?: string): Promise<Socket> {
  const { port, pathname } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
  const field = range === undefined ? '' : `Range: ${range}\r\n`;
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${field}\r\n`);
  await once(socket, 'readable');
  return socket;
}

/** What the system holds of a connection that nobody reads, for a while later; then the reader counts as slow. */
async function sentSoFar({ localPort, remotePort }: Socket): Promise<string[]> {
  await delay(2 * SLOW_MS);
  const ports = [localPort!, remotePort!].map((port) => `:${port.toString(16).toUpperCase()}`);
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFileSync(path, 'utf8'));
  const lines = tables.flatMap((table) => table.split('\n'));
  const ours = lines.filter((line) => ports.every((port) => line.includes(`${port} `)));
  return ours.map((line) => line.trim().split(/\s+/)[4]!);
}

async function bodyOf(socket: Socket): Promise<Buffer> {
  const bytes = await buffer(socket);
  return bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
}

async function readSlowly(t: Test, env: Record<string, string>): Promise<void> {
  const { url, lines } = await start(t, {
    SERVICE_SECRET: 'a secret of tests that is long enough',
    SERVICE_MAX_IMAGE_BYTES: String(PICTURE_BYTES),
    SERVICE_CACHE_BYTES: String(CACHE_BYTES),
    ...env,
  });
  const notes: { id: string; file_url: string }[] = [];
  for (let n = 0; n < READERS; n += 1) {
    const posted = await post(`${url}/key`, picture('gif', PICTURE_BYTES, n), {
      'content-type': 'image/gif',
    });
    notes.push(posted.json);
  }
  const before = buffersInUse();
  const sockets: Socket[] = [];
  for (const [n, note] of notes.entries())
    sockets.push(await stalledReader(note.file_url, n % 2 === 0 ? undefined : 'bytes=100-'));
  const most = before + CACHE_BYTES + READERS * MIB;
  t.ok(await eventually(() => buffersInUse() <= most), 'only the cache holds whole pictures');
  const address = `${url}/api/v1/feeds/key/notes/${notes[0]!.id}`;
  t.equal((await exactly(address, { method: 'DELETE' })).status, 204);
  const [deleted, ...whole] = await Promise.all(sockets.map(bodyOf));
  // All of it if its file had been opened for the reader before.
  const isBegin = picture('gif', PICTURE_BYTES, 0).subarray(0, deleted!.length).equals(deleted!);
  t.ok(isBegin, 'what was deleted meanwhile may break off');
  for (const [n, body] of whole.entries()) {
    const expected = picture('gif', PICTURE_BYTES, n + 1).subarray(n % 2 === 0 ? 100 : 0);
    t.ok(body.equals(expected), `picture ${n + 1}`);
  }
  t.same(
    lines.filter(({ level }) => level === 'error'),
    [],
  );
}

/** A picture is deleted while somebody reads it, and brought back with the same date and other bytes. */
async function readWhatComesBack(t: Test, env: Record<string, string>): Promise<void> {
  const { url } = await start(t, {
    SERVICE_SECRET: 'a secret of tests that is long enough',
    SERVICE_MAX_IMAGE_BYTES: String(PICTURE_BYTES),
    SERVICE_CACHE_BYTES: String(MIB),
    ...env,
  });
  const [first, second] = [picture('gif', PICTURE_BYTES, 1), picture('gif', PICTURE_BYTES, 2)];
  const bring = async (bytes: Buffer<ArrayBuffer>) => {
    const sent = {
      headers: { 'content-type': 'application/zip' },
      body: zipOf([{ name: 'map.gif', bytes }]),
    };
    const { json } = await ask(`${url}/api/v1/feeds/key/import`, { method: 'POST', ...sent });
    t.equal(json.imported, 1);
  };
  await bring(first);
  const { json } = await ask(`${url}/api/v1/feeds/key/notes/map`);
  const socket = await stalledReader(json.file_url);
  await settled(() => sentSoFar(socket));
  t.equal((await ask(`${url}/api/v1/feeds/key/notes/map`, { method: 'DELETE' })).status, 204);
  await bring(second);
  const body = await bodyOf(socket);
  t.ok(first.subarray(0, body.length).equals(body), 'it may break off, but is no mixture');
}

async function onAll(t: Test, read: typeof readSlowly): Promise<void> {
  await t.test('on plain files', (t) => read(t, {}));
  await t.test('on SQLite', (t) => read(t, { SERVICE_STORAGE: 'sqlite' }));
  await t.test('on PostgreSQL', async (t) => {
    const server = await PostgresServer.start(t);
    await read(t, { SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: await server.database() });
  });
}

t.test('readers of pictures hold little memory', (t) => onAll(t, readSlowly));

t.test('a picture that comes back with other bytes is not mixed with the former one', async (t) => {
  await onAll(t, readWhatComesBack);
  const images = { SERVICE_STORAGE: 'sqlite', SERVICE_IMAGES: 'fs' };
  await t.test('in a folder beside SQLite', (t) => readWhatComesBack(t, images));
});

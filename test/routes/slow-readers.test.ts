/** What slow readers of pictures cost, however many there are and whatever they read. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { exactly } from '../support/exact-request.ts';
import { picture } from '../support/pictures.ts';
import { PostgresServer } from '../support/postgres.ts';
import { post, start } from '../support/service.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const MIB = 1024 * 1024;
/** More than the system keeps of a connection. */
const PICTURE_BYTES = 12 * MIB;
const READERS = 12;
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

t.test('on plain files', (t) => readSlowly(t, {}));

t.test('on SQLite', (t) => readSlowly(t, { SERVICE_STORAGE: 'sqlite' }));

t.test('on PostgreSQL', async (t) => {
  const server = await PostgresServer.start(t);
  await readSlowly(t, { SERVICE_STORAGE: 'postgres', SERVICE_DATABASE_URL: await server.database() });
});

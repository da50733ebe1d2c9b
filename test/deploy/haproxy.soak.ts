/** One service behind HAProxy, which passes trailers on as no other proxy does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { missing, program } from '../support/installed.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { ask, start, tempDir } from '../support/service.ts';

const HOST = 'Host: test\r\nContent-Type: text/markdown\r\n';
const CHUNKED = `POST /feed HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n`;
const SMUGGLED = `POST /smuggled HTTP/1.1\r\n${HOST}Content-Length: 2\r\n\r\nhi`;

t.test('through HAProxy', { skip: missing('haproxy') }, async (t) => {
  const service = await start(t, { SERVICE_TRUST_PROXY: '1' });
  const port = await freePort();
  const file = join(await tempDir(t), 'haproxy.cfg');
  await writeFile(
    file,
    `defaults
  mode http
  option forwardfor
  http-reuse always
  timeout connect 1s
  timeout client 20s
  timeout server 20s
listen notes
  bind 127.0.0.1:${port}
  server service ${new URL(service.url).host}
`,
  );
  const haproxy = spawn(program('haproxy'), ['-db', '-f', file], { stdio: ['ignore', 'inherit', 'ignore'] });
  const closed = once(haproxy, 'close');
  t.teardown(async () => {
    haproxy.kill('SIGTERM');
    await closed;
  });
  const url = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(`${url}/health`)
      .then(({ ok }) => ok)
      .catch(() => false);
  t.ok(await eventually(isUp), 'HAProxy started');

  const send = async (bytes: string): Promise<number> => {
    const connection = await RawConnection.open(port);
    t.teardown(() => connection.close());
    connection.send(bytes);
    return (await connection.response()).status;
  };
  const notesOf = async (feed: string) =>
    (await ask(`${service.url}/api/v1/feeds/${feed}/notes`)).json.notes.length;

  t.equal(await send(`${CHUNKED}\r\n`), 201);
  t.equal(await send(`${CHUNKED}X-Trailer: 1\r\n\r\n`), 505, 'the binding cannot read trailers');
  t.equal(await notesOf('feed'), 1, 'so nothing is stored');
  const hidden = `: x\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`;
  for (const head of ['GET /health', 'POST /feed'])
    t.equal(await send(`${head} HTTP/1.1\r\n${HOST}${hidden}`), 400, head);
  for (let i = 0; i < 5; i++) {
    const path = `/api/v1/feeds/feed/notes/none HTTP/1.1\r\n${HOST}`;
    t.equal(await send(`DELETE ${path}\r\n`), 404, 'a connection that the service ended is not used again');
    t.equal(await send(`GET /health HTTP/1.1\r\n${HOST}\r\n`), 200);
  }
  t.equal(await notesOf('smuggled'), 0);
});

/** Three containers on one PostgreSQL behind nginx, as compose.postgres.yaml has them: what goes through the proxy. */
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { Deployment, PUBLIC_URL } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { readIdIn } from '../support/feed-client.ts';
import { missing } from '../support/installed.ts';
import { FORM_TYPE, field, file, formBody } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection, type RawResponse } from '../support/raw-connection.ts';
import { ask, post } from '../support/service.ts';

const MAX_PICTURE_BYTES = 5 * 1024 * 1024;
const LIMIT = 60;

const skip = missing('nginx');
const options = { skip, timeout: 600_000 };

t.test('through the proxy of several containers', options, async (t) => {
  const deployment = await Deployment.start(t);
  const { proxy } = deployment;
  const { url, port } = proxy;

  /** A link of the service, which has the public address, as it is reached here. */
  const here = (link: string): string => {
    t.ok(link.startsWith(`${PUBLIC_URL}/`), 'links have the public address');
    return url + link.slice(PUBLIC_URL.length);
  };

  /** Sends a request from one of the addresses of this machine, each of which is a client of its own. */
  async function from(address: string, head: string, body: string | Uint8Array = ''): Promise<RawResponse> {
    const connection = await RawConnection.open(port, address);
    try {
      const length = Buffer.byteLength(body);
      connection.send(`${head}\r\nHost: notes.example\r\nContent-Length: ${length}\r\n\r\n`);
      connection.send(body);
      return await connection.response();
    } finally {
      connection.close();
    }
  }

  /** Posts a picture for longer than the 10 s after which the service's HTTP library gives a silent connection up. */
  async function postSlowly(address: string): Promise<RawResponse> {
    const bytes = picture('webp', 39_000);
    const connection = await RawConnection.open(port, address);
    connection.send(`POST /ruff HTTP/1.1\r\nHost: notes.example\r\nContent-Type: image/webp\r\n`);
    connection.send(`Content-Length: ${bytes.length}\r\n\r\n`);
    for (let at = 0; at < bytes.length; at += 3_000) {
      connection.send(bytes.subarray(at, at + 3_000));
      await delay(1_000);
    }
    const response = await connection.response();
    connection.close();
    return response;
  }

  const slowPost = postSlowly('127.0.0.4');

  t.test('texts and pictures are posted and read, byte for byte', async (t) => {
    const text = '# Grüße\r\n\0 and so on';
    const posted = await post(`${url}/plover`, text);
    t.equal(posted.status, 201);
    const image = picture('png', MAX_PICTURE_BYTES);
    const shown = await post(`${url}/plover`, image, { 'content-type': 'image/png' });
    t.equal(shown.status, 201);
    t.ok((await ask(here(posted.json.file_url))).bytes.equals(Buffer.from(text)));
    t.ok((await ask(here(shown.json.file_url))).bytes.equals(image));
    const rss = await ask(here(posted.json.read_url));
    t.equal(rss.status, 200);
    t.equal(rss.headers.get('content-encoding'), 'gzip', 'compressed by the service');
    t.ok(rss.text.includes(shown.json.file_url));
  });

  t.test('a form of ten of the largest pictures', async (t) => {
    const pictures = Array.from({ length: 10 }, (_, i) => picture('jpg', MAX_PICTURE_BYTES, i));
    const parts = pictures.map((bytes, i) => file('file', `${i}.jpg`, 'image/jpeg', bytes));
    const form = formBody([field('text', 'Ten'), ...parts]);
    const { status, json } = await post(`${url}/curlew`, form, { 'content-type': FORM_TYPE });
    t.equal(status, 201);
    t.equal(json.attachments.length, 10);
    t.ok((await ask(here(json.attachments[9].file_url))).bytes.equals(pictures[9]!));
  });

  t.test('what has not changed is answered with 304, and parts of files with 206', async (t) => {
    const { json } = await post(`${url}/dunlin`, '0123456789');
    const rss = await ask(here(json.read_url));
    const again = { headers: { 'if-none-match': rss.headers.get('etag')! } };
    t.equal((await ask(here(json.read_url), again)).status, 304);
    const part = await ask(here(json.file_url), { headers: { range: 'bytes=2-4' } });
    t.match([part.status, part.text, part.headers.get('content-range')], [206, '234', 'bytes 2-4/10']);
    const head = await ask(here(json.file_url), { method: 'HEAD' });
    t.match([head.status, head.headers.get('content-length')], [200, '10']);
  });

  t.test('a title in a header that has a star in its name arrives', async (t) => {
    const { json } = await post(`${url}/knot`, 'x', { 'x-note-title*': "UTF-8''caf%C3%A9" });
    const { pathname } = new URL(json.url);
    t.equal((await ask(`${url}/api/v1/feeds/knot/notes/${pathname.split('/')[2]}`)).json.title, 'café');
  });

  t.test('a client is known by its own address, whatever it says of itself', async (t) => {
    const spoof = (i: number) => `X-Forwarded-For: 192.0.2.${i % 250}, 198.51.100.${i % 250}`;
    const write = (address: string, i: number) =>
      from(address, `POST /stint HTTP/1.1\r\nContent-Type: text/markdown\r\n${spoof(i)}`, `note ${i}`);
    const statuses: number[] = [];
    while (statuses.at(-1) !== 429 && statuses.length <= 4 * LIMIT)
      statuses.push((await write('127.0.0.2', statuses.length)).status);
    t.equal(statuses.at(-1), 429);
    t.ok(statuses.length > LIMIT * 0.9, `${statuses.length - 1} were taken`);
    t.equal((await write('127.0.0.3', 0)).status, 201, 'another client has turns of its own');
  });

  t.test('what is refused is refused before it is sent, and while it is', async (t) => {
    const connection = await RawConnection.open(port, '127.0.0.5');
    const head = `POST /godwit HTTP/1.1\r\nHost: notes.example\r\nContent-Type: image/svg+xml\r\n`;
    connection.send(`${head}Content-Length: ${MAX_PICTURE_BYTES}\r\n\r\n`);
    const { status, body } = await connection.response();
    t.match([status, JSON.parse(body.toString()).code], [415, 'unsupported_type']);
    connection.close();
    for (const type of ['image/svg+xml', 'text/html', 'image/bmp'])
      t.equal(
        (await post(`${url}/godwit`, picture('gif', MAX_PICTURE_BYTES), { 'content-type': type })).status,
        415,
      );
  });

  t.test('a slow client posts a picture in its own time', async (t) => {
    t.equal((await slowPost).status, 201);
  });

  t.test('its log tells of requests without feeds, read ids and clients', async (t) => {
    const { json } = await post(`${url}/secret-feed?secret-query`, 'x', { referer: 'http://secret-page/' });
    const readId = readIdIn(json.read_url);
    await ask(here(json.read_url));
    t.ok(await eventually(async () => (await proxy.logged()).includes('"method":"GET","status":200')));
    const log = await proxy.logged();
    for (const secret of ['secret', readId, '127.0.0.2']) t.notOk(log.includes(secret), secret);
  });
});

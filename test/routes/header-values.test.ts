/** Texts beyond ASCII in headers: to the byte as sent, and by curl as people type them. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { missing, program } from '../support/installed.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { start, tempDir } from '../support/service.ts';

const run = promisify(execFile);
const TEXTS = ['Café', '日本語', '🎉 done 🎉', 'é', 'Größe'];
const service = await start(t);
const feed = new FeedClient(service.url, 'bittern');
const png = picture('png', 64);

/** Posts a picture with one header of these very bytes. */
async function sendRaw(t: Test, header: string, value: string | Uint8Array) {
  const connection = await RawConnection.open(service.port);
  t.teardown(() => connection.close());
  const head = `POST /bittern HTTP/1.1\r\nHost: t\r\nContent-Type: image/png\r\nContent-Length: ${png.length}\r\n`;
  connection.send(
    Buffer.concat([
      Buffer.from(`${head}${header}: `),
      Buffer.from(value as string),
      Buffer.from('\r\n\r\n'),
      png,
    ]),
  );
  const { status, body } = await connection.response();
  return { status, json: JSON.parse(body.toString()) };
}

const MEMBERS = { 'X-Note-Title': 'title', 'X-Note-Alt': 'alt', 'X-Note-Name': 'name' };

for (const [header, member] of Object.entries(MEMBERS)) {
  t.test(`${header} is kept to its ends`, async (t) => {
    for (const text of TEXTS) {
      const { status, json } = await sendRaw(t, header, text);
      t.equal(status, 201, json.error);
      t.equal((await feed.get(`/notes/${json.id}`)).json[member], text);
    }
  });

  t.test(`${header} by curl is kept to its ends`, { skip: missing('curl') }, async (t) => {
    const file = join(await tempDir(t), 'cat.png');
    await writeFile(file, png);
    for (const text of TEXTS) {
      const fields = ['-H', 'Content-Type: image/png', '-H', `${header}: ${text}`];
      const sent = await run(program('curl'), [
        '-sS',
        '--data-binary',
        `@${file}`,
        ...fields,
        `${service.url}/bittern`,
      ]);
      const { id } = JSON.parse(sent.stdout);
      t.equal((await feed.get(`/notes/${id}`)).json[member], text);
    }
  });

  t.test(`an empty ${header} is none`, async (t) => {
    for (const empty of ['', ' \t ', '\u00a0']) {
      const { status, json } = await sendRaw(t, header, empty);
      t.equal(status, 201, json.error);
      const note = (await feed.get(`/notes/${json.id}`)).json;
      t.equal(note[member] ?? '', '');
    }
  });
}

for (const header of ['X-Note-Title', 'X-Note-Alt'])
  t.test(`${header} that is not UTF-8 is refused`, async (t) => {
    for (const bytes of [[0xff], [0x61, 0xe9], [0xe9, 0x61], [0x61, 0xff, 0x62]])
      t.match(await sendRaw(t, header, Buffer.from(bytes)), {
        status: 400,
        json: { code: 'invalid_request' },
      });
  });

t.test('no picture is refused for its name', async (t) => {
  const names: [sent: string | Uint8Array, name: string | undefined][] = [
    [Buffer.from([0xff, 0x61, 0xe9]), 'a'],
    [Buffer.from([0xff, 0xfe]), undefined],
    [Buffer.from('a\ufffdb'), 'a\ufffdb'],
    ['../../etc/été', '....etcété'],
    ['C:\\cat.png', 'C:cat.png'],
    ['a\tb\u202e\u2028c', 'abc'],
    ['/', undefined],
    ['é'.repeat(300), 'é'.repeat(200)],
    ['=?x?y?z?=', '=?x?y?z?='],
  ];
  for (const [sent, name] of names) {
    const { status, json } = await sendRaw(t, 'X-Note-Name', sent);
    t.equal(status, 201, json.error);
    t.equal((await feed.get(`/notes/${json.id}`)).json.name, name);
  }
});

t.test('a markdown note has no picture name, and takes no alt', async (t) => {
  const { status, json } = await feed.post('x', { 'x-note-name': 'a.png' });
  t.equal(status, 201);
  t.equal((await feed.get(`/notes/${json.id}`)).json.name, undefined);
  t.match(await feed.post('x', { 'x-note-alt': 'a' }), { status: 400, json: { code: 'invalid_request' } });
  t.match(await feed.post('x', { 'x-note-alt': '' }), { status: 201 });
});

t.test(
  'a password beyond ASCII is refused, and never a shorter one',
  { skip: missing('curl') },
  async (t) => {
    const post = async (name: string, password: string) => {
      const headers = ['-H', 'Content-Type: text/markdown', '-H', `X-Feed-Password${password}`];
      const args = ['-sS', '-d', 'x', ...headers, '-w', '\n%{http_code}', `${service.url}/${name}`];
      return Number((await run(program('curl'), args)).stdout.split('\n').at(-1));
    };
    for (const password of [': pä', ': äp', ': é', ';'])
      t.equal(await post('crake', password), 400, password);
    t.equal((await new FeedClient(service.url, 'crake').get()).status, 404, 'no feed was made');
    t.equal(await post('crake', ': p'), 201);
    t.equal(await post('crake', ': pä'), 400);
    const guess = new FeedClient(service.url, 'crake', {
      'x-feed-password': Buffer.from('pä').toString('latin1'),
    });
    t.equal((await guess.get()).status, 400);
  },
);

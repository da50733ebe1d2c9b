/** A whole feed out as a zip and back in, through HTTP. */
import { readdirSync, readlinkSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { imageSettings, ON_SQLITE } from '../support/image-settings.ts';
import { PIXEL, picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { refusesAll } from '../support/refused.ts';
import { ask, type Reply, start, type TestService, tempDir } from '../support/service.ts';
import { type ZippedFile, zipOf } from '../support/zips.ts';

const ZIP = { 'content-type': 'application/zip' };

function send(
  service: TestService,
  feed: string,
  zip: Uint8Array<ArrayBuffer>,
  headers = {},
): Promise<Reply> {
  const url = `${service.url}/api/v1/feeds/${feed}/import`;
  return ask(url, { method: 'POST', headers: { ...ZIP, ...headers }, body: zip });
}

/** Headers of the first post of a full feed. */
const KEYED = {
  'x-note-tags': 'a,b',
  'x-note-title*': "UTF-8''%C3%89",
  'idempotency-key': 'first',
  'x-note-expires': '7d',
};

/** What a client sees of the notes of a feed, but for addresses. */
async function notesOf(service: TestService, feed: string): Promise<unknown[]> {
  const { json } = await new FeedClient(service.url, feed).list('?limit=100');
  return json.notes.map(({ url: _url, file_url: _file, ...note }: Record<string, unknown>) => note);
}

async function exported(service: TestService, feed: string): Promise<Reply> {
  return new FeedClient(service.url, feed).get('/export');
}

/** A feed with all that an export has to keep. */
async function fill(service: TestService, feed: string): Promise<void> {
  const client = new FeedClient(service.url, feed);
  await client.post('# one', KEYED);
  const { json } = await client.post(PIXEL, { 'content-type': 'image/png', 'x-note-alt': 'a dot' });
  await client.post(picture('gif', 200_000), { 'content-type': 'image/gif' });
  const dated = '{"created":"2019-08-07T06:05:04.321Z","sender":"Ada","theirs":{"deep":[1]}}';
  const placed = zipOf([{ name: 'by hand ü.md' }, { name: '.by hand ü.md.json', bytes: dated }]);
  await send(service, feed, placed);
  await client.set({
    title: 'Title',
    description: 'Words',
    image: json.file,
    show_sender: false,
    listed: true,
  });
}

t.test('an export and an import give the same feed', async (t) => {
  const service = await start(t);
  await fill(service, 'marten');
  const { status, headers, bytes } = await exported(service, 'marten');
  t.equal(status, 200);
  t.equal(headers.get('content-type'), 'application/zip');
  t.equal(headers.get('x-content-type-options'), 'nosniff');
  t.match(headers.get('content-disposition'), /^attachment; filename="notes-[\d-]+\.zip"$/);
  t.notMatch(bytes.toString('latin1'), /marten|readid|password/, 'nothing that leads to the feed');
  const first = await send(service, 'otter', bytes as Buffer<ArrayBuffer>);
  t.same(first.json, { imported: 4, skipped: 0, refused: [], refused_count: 0 });
  t.same(await notesOf(service, 'otter'), await notesOf(service, 'marten'));
  t.match(JSON.stringify(await notesOf(service, 'otter')), '"sender":"Ada"', 'nobody signs in here');
  const [{ json: from }, { json: to }] = await Promise.all([
    new FeedClient(service.url, 'marten').get(),
    new FeedClient(service.url, 'otter').get(),
  ]);
  for (const member of ['title', 'description', 'show_sender', 'listed'])
    t.same(to[member], from[member], member);
  t.ok(to.image_url.endsWith('.png'), 'the title image');
  const second = await send(service, 'otter', bytes as Buffer<ArrayBuffer>);
  t.same(second.json, { imported: 0, skipped: 4, refused: [], refused_count: 0 });
  const again = await exported(service, 'otter');
  t.match(again.bytes.toString('latin1'), '"theirs":{"deep":[1]}', 'members for other programs');
  const otter = new FeedClient(service.url, 'otter');
  const replayed = await otter.post('# one', KEYED);
  t.equal(replayed.headers.get('idempotent-replayed'), 'true', 'its key stands for the post');
  const other = zipOf([{ name: 'new.md' }, { name: '.new.md.json', bytes: '{"key":"first"}' }]);
  t.match((await send(service, 'otter', other)).json, { imported: 0, refused: [{ code: 'key_reused' }] });
  t.equal((await ask(`${service.url}/api/v1/feeds/nobody/export`)).status, 404);
  const head = await ask(`${service.url}/api/v1/feeds/otter/export`, { method: 'HEAD' });
  t.equal(head.status, 200);
});

t.test('an import brings no limit for notes that are not in it', async (t) => {
  const service = await start(t);
  const zip = zipOf([
    { name: 'a.md' },
    { name: 'b.md' },
    { name: '.feed.json', bytes: '{"keep":{"notes":2},"listed":true}' },
  ]);
  await new FeedClient(service.url, 'marten').post('mine');
  t.match((await send(service, 'marten', zip)).json, { imported: 2 });
  t.match((await new FeedClient(service.url, 'marten').get()).json, { keep: null, listed: false });
  for (const imported of [2, 0]) {
    t.match((await send(service, 'otter', zip)).json, { imported });
    t.match((await new FeedClient(service.url, 'otter').get()).json, { keep: { notes: 2 }, listed: true });
  }
  const expired = zipOf([
    { name: 'a.md' },
    { name: '.a.md.json', bytes: '{"expires":"2020-01-01T00:00:00Z"}' },
    { name: '.feed.json', bytes: '{"keep":{"days":1},"listed":true}' },
  ]);
  await new FeedClient(service.url, 'stoat').post('mine');
  t.match((await send(service, 'stoat', expired)).json, { imported: 0, skipped: 1 });
  t.match((await new FeedClient(service.url, 'stoat').get()).json, { keep: null, listed: false });
});

t.test('settings and notes that come during the upload count as those of the feed', async (t) => {
  const service = await start(t);
  const marten = new FeedClient(service.url, 'marten');
  const { file } = (await marten.post(PIXEL, { 'content-type': 'image/png' })).json;
  const settings = '{"title":"zip","description":"zip","keep":{"notes":1},"listed":true}';
  const zip = zipOf([
    { name: file, bytes: PIXEL },
    { name: '.feed.json', bytes: settings },
  ]);
  const url = `${service.url}/api/v1/feeds/marten/import`;
  const upload = request(url, { method: 'POST', headers: { ...ZIP, 'content-length': zip.length } });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    upload.on('response', (answer) => resolve(answer.resume().statusCode)).on('error', reject);
  });
  upload.write(zip.subarray(0, 10));
  const isRunning = async () => (await send(service, 'otter', zipOf([{ name: 'a.md' }]))).status === 503;
  t.ok(await eventually(isRunning));
  await marten.set({ title: 'mine' });
  await marten.post('mine');
  upload.end(zip.subarray(10));
  t.equal(await answered, 200);
  t.match((await marten.get()).json, { title: 'mine', description: 'zip', keep: null, listed: false });
});

t.test('settings without a note make no feed', async (t) => {
  const service = await start(t);
  for (const bytes of ['{"title":"t"}', `{"title":"${'t'.repeat(101)}"}`]) {
    const { json } = await send(service, 'marten', zipOf([{ name: '.feed.json', bytes }]));
    t.match(json, { imported: 0, refused: [{ file: '.feed.json' }] });
    t.equal((await new FeedClient(service.url, 'marten').get()).status, 404);
  }
});

t.test('notes that an instance has no room for make no feed', async (t) => {
  const service = await start(t, { SERVICE_MAX_BYTES: '1000' });
  const otter = new FeedClient(service.url, 'otter');
  const large = { name: 'large.md', bytes: 'x'.repeat(2_000) };
  const refused = [{ file: 'large.md', code: 'byte_limit' }];
  const reply = await send(service, 'otter', zipOf([large, { name: '.feed.json', bytes: '{"title":"t"}' }]));
  t.match(reply.json, { imported: 0, refused: [...refused, { file: '.feed.json' }] });
  t.equal((await otter.get()).status, 404);
  t.match((await send(service, 'otter', zipOf([large, { name: 'a.md' }]))).json, { imported: 1, refused });
  t.match((await otter.list()).json.notes, [{ id: 'a' }]);
});

t.test('the folder above is none that all files of a zip are in', async (t) => {
  const service = await start(t);
  for (const name of ['../up.md', './here.md'])
    t.match((await send(service, 'marten', zipOf([{ name }]))).json, {
      imported: 0,
      refused: [{ file: name }],
    });
});

t.test('of two metadata files of a note neither is taken, nor the note', async (t) => {
  const service = await start(t);
  const twice = ['{"title":"one"}', '{"title":"two"}'].map((bytes) => ({ name: '.a.md.json', bytes }));
  const { json } = await send(service, 'marten', zipOf([{ name: 'a.md' }, ...twice]));
  t.match(json, { imported: 0, refused_count: 3 });
  t.match(json.refused[0], { file: 'a.md', code: 'invalid_body', error: /two metadata files/ });
});

t.test('the answer names the first thousand refused files', async (t) => {
  const service = await start(t);
  const files = Array.from({ length: 1_001 }, (_, n) => ({ name: `${n}` }));
  const { json } = await send(service, 'marten', zipOf(files));
  t.match(json, { imported: 0, refused_count: 1_001 });
  t.equal(json.refused.length, 1_000);
  t.equal(json.refused.at(-1).file, '999');
});

t.test(
  'a note without a date in its id has that of its metadata, else of its name, else of its file',
  async (t) => {
    const service = await start(t);
    const zip = zipOf([
      { name: '20200102T030405Z-said.md' },
      { name: '.20200102T030405Z-said.md.json', bytes: '{"created":"2019-01-01T00:00:00Z"}' },
      { name: '20200102T030405Z-named.md' },
      { name: 'dated.md', day: (40 << 9) | (2 << 5) | 3 },
      { name: 'future.md', day: (127 << 9) | (12 << 5) | 31 },
    ]);
    t.match((await send(service, 'marten', zip)).json, { imported: 4 });
    const { notes } = (await new FeedClient(service.url, 'marten').list()).json;
    const [future, ...others] = notes.map((note: Record<string, string>) => [note.id, note.created_at]);
    t.equal(future[0], 'future');
    t.ok(Date.parse(future[1]) <= Date.now(), 'no note is of the future');
    t.strictSame(others, [
      ['dated', '2020-02-03T00:00:00.000Z'],
      ['20200102T030405Z-named', '2020-01-02T03:04:05.000Z'],
      ['20200102T030405Z-said', '2019-01-01T00:00:00.000Z'],
    ]);
  },
);

t.test(
  'settings of a zip change none that the feed has, and a title image that it cannot have is left out',
  async (t) => {
    const service = await start(t);
    const marten = new FeedClient(service.url, 'marten');
    const named = (title: string, image: string, keep?: object) => [
      { name: 'a.md' },
      { name: 'b.png', bytes: PIXEL },
      { name: '.feed.json', bytes: JSON.stringify({ title, image, keep }) },
    ];
    for (const [title, image] of [
      ['', 'absent.png'],
      ['Of a text', 'a.md'],
    ] as const) {
      t.match((await send(service, 'marten', zipOf(named(title, image)))).json, { refused_count: 0 });
      t.match((await marten.get()).json, { title, image_url: null });
    }
    t.match((await send(service, 'marten', zipOf(named('', 'b.png', { notes: 9 })))).json, {
      refused_count: 0,
    });
    t.match((await marten.get()).json, { image_url: /b\.png$/, keep: { notes: 9 } });
    await marten.set({ show_sender: false });
    await send(
      service,
      'marten',
      zipOf([...named('', 'c.png', { notes: 5 }), { name: 'c.png', bytes: PIXEL }]),
    );
    t.match((await marten.get()).json, { image_url: /b\.png$/, keep: { notes: 9 }, show_sender: false });
  },
);

t.test('names of a zip are cleaned as those of a post, and its sizes of pictures do not count', async (t) => {
  const service = await start(t);
  const zip = zipOf([
    { name: 'a.md', bytes: '![](b.png)' },
    { name: '.a.md.json', bytes: '{"name":"a.txt","sender":"Ann"}' },
    { name: 'b.png', bytes: PIXEL },
    {
      name: '.b.png.json',
      bytes: `{"attached_to":"a","name":"b/c\\\\d.png","pixels":{"width":9,"height":9,"bytes":${PIXEL.length}}}`,
    },
  ]);
  t.match((await send(service, 'marten', zip)).json, { imported: 2 });
  const { notes } = (await new FeedClient(service.url, 'marten').list()).json;
  t.same(notes.map(({ name }: { name?: string }) => name).filter(Boolean), ['bcd.png']);
  t.same(notes.map(({ sender }: { sender?: string }) => sender).filter(Boolean), ['Ann']);
  const cameWith = notes.map(({ attached_to: text }: { attached_to?: string }) => text);
  t.same(cameWith.filter(Boolean), ['a']);
  const again = (await exported(service, 'marten')).bytes.toString('latin1');
  t.match(again, `"pixels":{"width":1,"height":1,"bytes":${PIXEL.length}}`);
});

t.test('metadata that is nested very deeply ends nothing', async (t) => {
  const service = await start(t, { SERVICE_SECRET: 'a secret that is long enough for it' });
  const deep = `{"tags":["kept"],"deep":${'['.repeat(8_000)}${']'.repeat(8_000)}}`;
  const zip = zipOf([{ name: 'a.md' }, { name: '.a.md.json', bytes: deep }]);
  t.match((await send(service, 'marten', zip)).json, { imported: 1 });
  const { json } = await new FeedClient(service.url, 'marten').list();
  t.match(json.notes, [{ tags: ['kept'] }]);
});

t.test('a key of null is none, and one that is a number is its digits', async (t) => {
  const service = await start(t);
  const zip = zipOf([
    { name: 'a.md' },
    { name: '.a.md.json', bytes: '{"key":null}' },
    { name: 'b.md' },
    { name: '.b.md.json', bytes: '{"key":null}' },
    { name: 'c.md' },
    { name: '.c.md.json', bytes: '{"key":7}' },
  ]);
  t.match((await send(service, 'marten', zip)).json, { imported: 3, refused_count: 0 });
  const { json } = await new FeedClient(service.url, 'marten').list();
  t.same(json.notes.map(({ key }: { key?: string }) => key).filter(Boolean), ['7']);
});

/** Of deflate: it holds nothing, and others may follow. */
const EMPTY_BLOCK = Buffer.from('000000ffff', 'hex');
/** The longest name that there is room for, with that of its metadata file. */
const LONGEST = `${'g'.repeat(246)}.md`;

const FILES: readonly (readonly [what: string, code: string, ...files: ZippedFile[]])[] = [
  ['a path upwards', 'invalid_body', { name: '../up.md' }],
  ['an absolute name', 'invalid_body', { name: '/tmp/abs.md' }],
  ['a backslash', 'invalid_body', { name: '..\\back.md' }],
  ['an invisible character', 'invalid_body', { name: 'a\u202ab.md' }],
  ['a folder in the folder', 'invalid_body', { name: 'sub/a.md' }],
  ['a folder', 'invalid_body', { name: 'empty/', bytes: '', mode: 0o040755 }],
  ['a link', 'invalid_body', { name: 'link.md', bytes: '/etc/passwd', mode: 0o120777 }],
  ['a device', 'invalid_body', { name: 'device.md', mode: 0o020666 }],
  ['a name twice', 'invalid_body', { name: 'twice.md' }, { name: 'twice.md', bytes: 'y' }],
  ['an encrypted file', 'invalid_body', { name: 'secret.md', flags: 0x801 }],
  ['another compression', 'invalid_body', { name: 'lzma.md', method: 14 }],
  ['a name without a type', 'invalid_body', { name: 'readme' }],
  ['a password', 'invalid_body', { name: '.password' }],
  ['a long name', 'invalid_body', { name: `${'n'.repeat(247)}.md` }],
  ['a longer one, cut where it is told', 'invalid_body', { name: `${'m'.repeat(400)}.md` }],
  ['a bomb', 'too_large', { name: 'bomb.md', bytes: Buffer.alloc(30_000_000) }],
  [
    'a bomb that says it is small',
    'invalid_body',
    { name: 'lie.md', bytes: Buffer.alloc(30_000_000), size: 9 },
  ],
  [
    'a file that is hidden in much more',
    'invalid_body',
    { name: 'padded.md', packed: Buffer.concat([...Array(1_000).fill(EMPTY_BLOCK), deflateRawSync('x')]) },
  ],
  [
    'a stored file that says it is shorter',
    'invalid_body',
    { name: 'short.md', method: 0, bytes: 'xy', size: 1 },
  ],
  ['a file behind the end of the zip', 'invalid_body', { name: 'beyond.md', offset: 900_000_000 }],
  ['wrong bytes', 'invalid_body', { name: 'crc.md', crc: 1 }],
  ['wrong bytes that are stored', 'invalid_body', { name: 'stored.md', method: 0, crc: 1 }],
  ['a picture of 6 MiB', 'too_large', { name: 'large.png', bytes: picture('png', 6 * 1024 * 1024) }],
  ['a picture of another type', 'unsupported_type', { name: 'wrong.png', bytes: picture('gif') }],
  ['a text that is not UTF-8', 'unsupported_type', { name: 'latin.md', bytes: Buffer.from([0x63, 0xe9]) }],
  ['a blank text', 'empty_note', { name: 'blank.md', bytes: ' \n' }],
  [
    'a long title',
    'invalid_request',
    { name: 't.md' },
    { name: '.t.md.json', bytes: `{"title":"${'t'.repeat(101)}"}` },
  ],
  ['a wrong tag', 'invalid_request', { name: 'g.md' }, { name: '.g.md.json', bytes: '{"tags":["a b"]}' }],
  [
    'a long alt',
    'invalid_request',
    { name: 'alt.png', bytes: PIXEL },
    { name: '.alt.png.json', bytes: `{"alt":"${'x'.repeat(501)}"}` },
  ],
  [
    'a long sender',
    'invalid_request',
    { name: 's.md' },
    { name: '.s.md.json', bytes: `{"sender":"${'s'.repeat(321)}"}` },
  ],
  ['an alt of a text', 'invalid_request', { name: 'l.md' }, { name: '.l.md.json', bytes: '{"alt":"x"}' }],
  ['a wrong key', 'invalid_request', { name: 'k.md' }, { name: '.k.md.json', bytes: '{"key":" "}' }],
  [
    'a key that is no text',
    'invalid_request',
    { name: 'o.md' },
    { name: '.o.md.json', bytes: '{"key":{"toString":1}}' },
  ],
  [
    'an expiry too far',
    'invalid_request',
    { name: 'e.md' },
    { name: '.e.md.json', bytes: '{"expires":"2999-01-01"}' },
  ],
  ['metadata that is no JSON', 'invalid_body', { name: 'j.md' }, { name: '.j.md.json', bytes: 'no' }],
  [
    'long metadata',
    'too_large',
    { name: 'm.md' },
    { name: '.m.md.json', bytes: `{"x":"${'x'.repeat(17_000)}"}` },
  ],
];

t.test('each file that breaks a rule is refused by its name, and the others are stored', async (t) => {
  const service = await start(t);
  const files = FILES.flatMap(([, , ...files]) => files);
  const lost = { name: '.lost.md.json', bytes: '{}' };
  const { status, json } = await send(service, 'marten', zipOf([{ name: LONGEST }, ...files, lost]));
  t.equal(status, 200);
  t.equal(json.imported, 1);
  const found = new Map(json.refused.map((one: { file: string; code: string }) => [one.file, one.code]));
  for (const [what, code, file] of FILES)
    t.equal(found.get(file!.name.replace('\u202a', ' ').slice(0, 300)), code, what);
  t.equal(found.get('.lost.md.json'), 'invalid_body', 'metadata of no note');
  t.equal(json.refused_count, FILES.length + 2, 'a name twice twice, and the lost metadata');
  t.same((await notesOf(service, 'marten')).length, 1);
  if (process.env.SERVICE_STORAGE === undefined)
    t.same(readdirSync(join(service.dir, 'marten')).sort(), ['.readid', LONGEST]);
  t.notOk(
    readdirSync(service.dir).some((name) => name.startsWith('.tmp')),
    'no temporary file is left',
  );
});

t.test(
  'a zip of a folder is taken as its files, and what expired or has the key of another not',
  async (t) => {
    const service = await start(t);
    const zip = zipOf([
      { name: 'folder/', bytes: '', mode: 0o040755 },
      { name: 'folder/a.md' },
      { name: 'folder/.a.md.json', bytes: '{"key":"one"}' },
      { name: 'folder/b.md' },
      { name: 'folder/.b.md.json', bytes: '{"key":"one"}' },
      { name: 'folder/c.md' },
      { name: 'folder/.c.md.json', bytes: '{"expires":"2020-01-01T00:00:00Z"}' },
    ]);
    const { json } = await send(service, 'marten', zip);
    t.match(json, { imported: 1, skipped: 1, refused_count: 1 });
    t.match(json.refused, [{ file: 'b.md', code: 'key_reused' }]);
  },
);

t.test('a zip made on a Mac is taken, and what it has beside the files is no refusal', async (t) => {
  const service = await start(t);
  // Names are UTF-8 there, without the flag that says so.
  const mac = [
    { name: 'folder/', bytes: '', mode: 0o040755 },
    { name: 'folder/.DS_Store' },
    { name: 'folder/Café.md' },
    { name: 'folder/.Café.md.json', bytes: '{"title":"A title"}' },
    { name: '__MACOSX/._folder' },
    { name: '__MACOSX/folder/._Café.md' },
  ];
  const body = zipOf(mac.map((file) => ({ ...file, flags: 0 })));
  const { json } = await send(service, 'marten', body, { 'content-type': 'application/octet-stream' });
  t.match(json, { imported: 1, skipped: 0, refused_count: 0 });
  t.match(await notesOf(service, 'marten'), [{ id: 'Café', title: 'A title' }]);
});

t.test('a zip made on Windows is taken, whichever slashes are in its names', async (t) => {
  const service = await start(t);
  const windows = [
    { name: 'folder\\', bytes: '' },
    { name: 'folder\\a.md' },
    { name: 'folder\\.a.md.json', bytes: '{"title":"A title"}' },
    { name: 'folder\\sub\\b.md' },
    { name: 'folder\\..\\c.md' },
  ];
  const { json } = await send(
    service,
    'marten',
    zipOf(windows.map((file) => ({ ...file, system: 0, mode: 0 }))),
    { 'content-type': 'application/x-zip-compressed' },
  );
  t.match(json, { imported: 1, skipped: 0, refused_count: 2 });
  t.match(await notesOf(service, 'marten'), [{ id: 'a', title: 'A title' }]);
});

t.test('a note that has expired is in the way of none', async (t) => {
  const service = await start(t);
  const marten = new FeedClient(service.url, 'marten');
  const expires = JSON.stringify({ key: 'one', expires: new Date(Date.now() + 5_000) });
  const early = zipOf([{ name: 'a.md' }, { name: '.a.md.json', bytes: expires }, { name: 'b.md' }]);
  t.match((await send(service, 'marten', early)).json, { imported: 2 });
  t.ok(await eventually(async () => (await marten.list()).json.notes.length === 1));
  const late = zipOf([
    { name: 'a.md', bytes: 'late' },
    { name: 'b.md' },
    { name: 'c.md' },
    { name: '.c.md.json', bytes: '{"key":"one"}' },
  ]);
  t.match((await send(service, 'marten', late)).json, { imported: 2, skipped: 1, refused_count: 0 });
  const { notes } = (await marten.list()).json;
  const found = notes.map(({ id, key, content }: Record<string, string>) => [id, key, content]);
  t.strictSame(found.sort(), [
    ['a', undefined, 'late'],
    ['b', undefined, 'x'],
    ['c', 'one', 'x'],
  ]);
});

t.test('what is no zip changes nothing', async (t) => {
  const service = await start(t);
  await new FeedClient(service.url, 'marten').post('there');
  const zip = zipOf([{ name: 'a.md' }, { name: 'b.md', bytes: 'y'.repeat(2_000) }]);
  const shared = Buffer.from(zip);
  // Both files have the bytes of the first, and say they have more.
  shared.writeUInt32LE(1_000_000, shared.indexOf('PK\x01\x02') + 20);
  const huge = ['a.md', 'b.md', 'c.md'].map((name) => ({ name, size: 4_000_000_000 }));
  const path = '/api/v1/feeds/marten/import';
  const row = { method: 'POST', path, headers: ZIP, status: 400, code: 'invalid_body' };
  await refusesAll(t, { service, views: [{ path: '/api/v1/feeds/marten/notes' }], secrets: ['marten'] }, [
    { ...row, what: 'no bytes', body: '' },
    { ...row, what: 'a text', body: 'PK but no zip' },
    { ...row, what: 'the beginning of a zip', body: zip.subarray(0, zip.length - 30) },
    { ...row, what: 'the end of a zip', body: zip.subarray(40) },
    { ...row, what: 'more bytes than there are', body: shared },
    { ...row, what: 'more than 8 GiB', body: zipOf(huge), status: 413, code: 'too_large' },
    {
      ...row,
      what: 'another type',
      body: zip,
      headers: { 'content-type': 'text/plain' },
      status: 415,
      code: 'unsupported_type',
    },
    { ...row, what: 'a reserved name', path: '/api/v1/feeds/login/import', body: zip, code: 'reserved_feed' },
  ]);
});

t.test('a zip of more than 1 GiB is refused by its length, whatever else is wrong', async (t) => {
  const service = await start(t);
  for (const [length, status] of [
    [1024 ** 3 + 1, 413],
    [1024 ** 3, 400],
  ]) {
    const connection = await RawConnection.open(service.port);
    t.teardown(() => connection.close());
    const fields = 'Host: x\r\nContent-Type: application/zip\r\nIf-Match: no ETag\r\n';
    const target = '/api/v1/feeds/marten/import';
    connection.send(`POST ${target} HTTP/1.1\r\n${fields}Content-Length: ${length}\r\n\r\n`);
    t.equal((await connection.response()).status, status);
  }
});

t.test('an import leaves no file open', async (t) => {
  const service = await start(t);
  const isLeft = (fd: string) => {
    try {
      return /\(deleted\)$/.test(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      return false;
    }
  };
  const left = () => readdirSync('/proc/self/fd').filter(isLeft).length;
  const before = left();
  for (const zip of [zipOf([{ name: 'a.md' }]), Buffer.from('no zip')]) await send(service, 'marten', zip);
  t.equal(left(), before);
});

t.test('an export that fails at its beginning gives back its place', async (t) => {
  const dir = join(await tempDir(t), 'pictures');
  const service = await start(t, { ...ON_SQLITE, ...imageSettings({ kind: 'fs', dir }) });
  await new FeedClient(service.url, 'marten').post(PIXEL, { 'content-type': 'image/png' });
  rmSync(dir, { recursive: true });
  for (let n = 0; n < 5; n += 1) t.equal((await exported(service, 'marten')).json.code, 'store_unavailable');
});

t.test('the caps and the password of a feed hold, and an import counts as one write', async (t) => {
  const caps = { SERVICE_MAX_NOTES_PER_FEED: '2', SERVICE_IMAGE_UPLOADS: '0', SERVICE_RATE_LIMIT: '3' };
  const service = await start(t, caps);
  const zip = zipOf([{ name: 'a.md' }, { name: 'b.md' }, { name: 'c.md' }, { name: 'p.png', bytes: PIXEL }]);
  const password = { 'x-feed-password': 'open sesame' };
  const { json } = await send(service, 'marten', zip, password);
  t.match(json, {
    imported: 2,
    refused: [
      { file: 'p.png', code: 'images_off' },
      { file: 'c.md', code: 'note_limit' },
    ],
  });
  t.equal((await send(service, 'marten', zip)).status, 401);
  t.match((await send(service, 'marten', zip, password)).json, { imported: 0, skipped: 2 });
  t.equal((await send(service, 'marten', zip, password)).json.refused_count, 2);
  t.equal((await send(service, 'marten', zip, password)).status, 429);
});

t.test('an import that may not store any note is refused, and no note of it gets lost', async (t) => {
  const service = await start(t);
  await new FeedClient(service.url, 'marten').post('there', { 'x-read-id': 'mine' });
  // More than is stored together, so the first is to be stored while the second is read.
  const zip = zipOf(['a.gif', 'b.gif'].map((name) => ({ name, bytes: picture('gif', 700_000) })));
  const taken = await send(service, 'otter', zip, { 'x-read-id': 'mine' });
  t.match(taken, { status: 409, json: { code: 'taken' } });
  t.match(await new FeedClient(service.url, 'otter').get(), { status: 404 });
});

t.test('the log counts the notes of an import that fails later', async (t) => {
  const service = await start(t);
  const marten = new FeedClient(service.url, 'marten');
  const zip = zipOf(Array.from({ length: 3_000 }, (_, n) => ({ name: `${n}.md` })));
  const importing = send(service, 'marten', zip);
  t.ok(await eventually(async () => (await marten.get()).status === 200));
  t.equal((await marten.send('DELETE', '')).status, 204);
  t.match(await importing, { status: 404 });
  const line = service.lines.find(({ message }) => message === 'notes imported');
  t.ok(Number(line?.fields.count) > 0);
});

t.test('a client has one import at a time, and exports give back their places', async (t) => {
  const service = await start(t);
  const head = 'POST /api/v1/feeds/marten/import HTTP/1.1\r\nHost: x\r\nContent-Type: application/zip\r\n';
  let first: Socket | undefined;
  const isBusy = async () => {
    // One that came while another import ran is refused: only one that runs is not answered.
    if (first === undefined || first.destroyed) {
      first = connect(service.port, '127.0.0.1');
      first.once('data', () => first!.destroy()).on('error', () => {});
      first.write(`${head}Content-Length: 1000\r\n\r\nPK`);
      // It is to come before the others: behind one that is slow to store it would be refused each time.
      return false;
    }
    return (await send(service, 'marten', zip)).status === 503;
  };
  const zip = zipOf([{ name: 'a.md' }]);
  t.ok(await eventually(isBusy), 'busy');
  first!.destroy();
  t.ok(await eventually(async () => (await send(service, 'marten', zip)).status === 200), 'and not any more');
  const url = `${service.url}/api/v1/feeds/marten/export`;
  for (let n = 0; n < 5; n += 1) {
    await (await fetch(url)).body!.cancel();
    t.equal((await ask(url, { method: 'HEAD' })).status, 200);
  }
  t.ok(await eventually(async () => (await ask(url)).status === 200));
});

async function roundTrip(t: Test, kinds: readonly string[]): Promise<void> {
  const secret = 'a secret of tests that is long enough';
  let zip: Buffer<ArrayBuffer> | undefined;
  let notes: unknown[] | undefined;
  for (const kind of kinds) {
    process.env.SERVICE_STORAGE = kind;
    const service = await start(t, { SERVICE_SECRET: secret });
    if (zip === undefined) await fill(service, 'marten');
    else t.match((await send(service, 'marten', zip)).json, { imported: 4, refused_count: 0 }, kind);
    const marten = new FeedClient(service.url, 'marten');
    const path = `/notes/${encodeURIComponent('by hand ü')}`;
    t.equal((await marten.put(path, 'x')).status, 200);
    for (const title of ['Other', ''])
      t.equal((await marten.send('PATCH', path, JSON.stringify({ title }))).status, 200);
    notes ??= await notesOf(service, 'marten');
    t.same(await notesOf(service, 'marten'), notes, kind);
    zip = (await exported(service, 'marten')).bytes as Buffer<ArrayBuffer>;
    t.match(zip.toString('latin1'), '"theirs":{"deep":[1]}', kind);
  }
}

t.test('a feed goes from backend to backend and stays the same', async (t) => {
  const { SERVICE_STORAGE } = process.env;
  t.teardown(() => {
    if (SERVICE_STORAGE === undefined) delete process.env.SERVICE_STORAGE;
    else process.env.SERVICE_STORAGE = SERVICE_STORAGE;
  });
  await roundTrip(t, ['fs', 'sqlite', 'postgres', 'fs']);
});

t.test('a note that comes back with other bytes and its old date is not taken for the old one', async (t) => {
  const service = await start(t);
  const bring = (bytes: string) => send(service, 'magpie', zipOf([{ name: 'plan.md', bytes }]));
  t.equal((await bring('Meet at 7, key 1234')).json.imported, 1);
  const client = new FeedClient(service.url, 'magpie');
  const [{ file_url: address }] = (await client.list()).json.notes;
  const before = await ask(address);
  t.equal((await client.send('DELETE', '/notes/plan')).status, 204);
  t.equal((await ask(address)).status, 404);
  t.equal((await bring('Meet at 8, no key..')).json.imported, 1);
  const headers = { 'if-none-match': before.headers.get('etag')! };
  t.match(await ask(address, { headers }), { status: 200, text: 'Meet at 8, no key..' });
});

t.test('nor if it came back while the feed had another read id', async (t) => {
  const service = await start(t);
  const bring = (bytes: string) => send(service, 'jackdaw', zipOf([{ name: 'plan.md', bytes }]));
  t.equal((await bring('Meet at 7, key 1234')).json.imported, 1);
  const client = new FeedClient(service.url, 'jackdaw');
  const moveTo = (read_id: string) => client.send('PATCH', '', JSON.stringify({ read_id }));
  t.equal((await moveTo('first')).status, 200);
  const address = `${service.url}/r/first/plan.md`;
  const before = await ask(address);
  t.equal((await moveTo('second')).status, 200);
  t.equal((await client.send('DELETE', '/notes/plan')).status, 204);
  t.equal((await bring('Meet at 8, no key..')).json.imported, 1);
  t.equal((await moveTo('first')).status, 200);
  const headers = { 'if-none-match': before.headers.get('etag')! };
  t.match(await ask(address, { headers }), { status: 200, text: 'Meet at 8, no key..' });
});

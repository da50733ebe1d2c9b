/** Every refusal of a form that spec.md names ("Errors"), through HTTP: what is said, and that nothing is left of it. */
import t, { type Test } from 'tap';
import { largestRequestBytes } from '../../src/config.ts';
import { FeedClient } from '../support/feed-client.ts';
import { BOUNDARY, FORM_TYPE, field, file, formBody, type SentPart } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { contents, type Refused, refusesAll } from '../support/refused.ts';
import { post, start, type TestService } from '../support/service.ts';

const FORM = { 'content-type': FORM_TYPE };
/** What no sentence may tell. */
const SECRETS = ['polecat', 'secret', 'taken-id'];
const MAX_PICTURE = 5_000;
/** A text that fits, but not with a picture added. */
const FULL_TEXT = 'x'.repeat(102_395);

/** A picture under a name. */
function png(name: string): SentPart {
  return file('file', name, 'image/png', picture('png'));
}

const good = [field('text', 'a'), png('a.png')];

/** What is refused of a form by its parts: what is wrong, the parts, the status, the code, what the sentence holds. */
type Row = readonly [
  what: string,
  parts: readonly SentPart[],
  status: number,
  code: string,
  word?: string,
  headers?: Record<string, string>,
];

/** Names that are none, as they are sent and as the refusal shows them. */
const BAD_NAMES: [what: string, sent: string, shown?: string][] = [
  ['a slash', 'a/b.png', 'a\ufffdb.png'],
  ['a backslash', 'a\\\\b.png', 'a\ufffdb.png'],
  ['a path', '../../etc/passwd', '..\ufffd..\ufffdetc\ufffdpasswd'],
  ['a control character', 'a\u0007b.png', 'a\ufffdb.png'],
  ['a tab', 'a\tb.png', 'a\ufffdb.png'],
  ['a DEL', 'a\u007fb.png', 'a\ufffdb.png'],
  ['a C1 control character', 'a\u0085b.png', 'a\ufffdb.png'],
  ['a line separator', 'a\u2028b.png', 'a\ufffdb.png'],
  ['a paragraph separator', 'a\u2029b.png', 'a\ufffdb.png'],
  ['a line feed', 'a%0Ab.png', 'a\ufffdb.png'],
  ['a carriage return', 'a%0Db.png', 'a\ufffdb.png'],
  ['an override', 'a\u202eb.png', 'a\ufffdb.png'],
  ['an isolate', 'a\u2066b.png', 'a\ufffdb.png'],
  ['a space before it', ' a.png'],
  ['a space after it', 'a.png '],
  ['only a dot', '.'],
  ['only dots', '....'],
  ['201 units', `${'\u{1f600}'.repeat(100)}a`],
];

const ROWS: Row[] = [
  ...BAD_NAMES.flatMap(([what, sent, shown = sent]): Row[] => {
    const told = `attachment "${shown}": `;
    return [
      [`a name with ${what}`, [field('text', 'a'), png(sent)], 400, 'invalid_body', told],
      [`an alt for a name with ${what}`, [field(`alt.${sent}`, 'a'), ...good], 400, 'invalid_body', told],
    ];
  }),
  ['an empty name', [png('')], 400, 'invalid_body', 'name'],
  [
    'a file without a name',
    [
      {
        header: 'Content-Disposition: form-data; name="file"\r\nContent-Type: image/png',
        content: picture('png'),
      },
    ],
    400,
    'invalid_body',
    'name',
  ],
  ['two files of one name', [...good, png('a.png')], 400, 'invalid_body', 'attachment "a.png": '],
  ['two names that decode to one', [png('a%22b'), png('a\\"b')], 400, 'invalid_body', 'a"b'],
  ['11 files', Array.from({ length: 11 }, (_, i) => png(`${i}.png`)), 400, 'invalid_body', '10'],
  ['a part of another name', [...good, field('other', 'x')], 400, 'invalid_body', 'The part "other"'],
  [
    'a part whose name must not be shown',
    [...good, field('a\u202e%0A', 'x')],
    400,
    'invalid_body',
    '"a\ufffd\ufffd"',
  ],
  [
    'a part without a name',
    [{ header: 'Content-Disposition: form-data', content: 'x' }],
    400,
    'invalid_body',
  ],
  ['capitals in the name of a part', [field('Text', 'a')], 400, 'invalid_body', 'The part "Text"'],
  ['a second text', [...good, field('text', 'b')], 400, 'invalid_body', 'text'],
  ['an alt of no file', [...good, field('alt.b.png', 'x')], 400, 'invalid_body', 'attachment "b.png": '],
  ['only an alt', [field('alt.b.png', 'x')], 400, 'invalid_body', 'attachment "b.png": '],
  [
    'two alts of one file',
    [...good, field('alt.a.png', 'x'), field('alt.a.png', 'x')],
    400,
    'invalid_body',
    'attachment "a.png": ',
  ],
  ['a long alt', [...good, field('alt.a.png', 'x'.repeat(501))], 400, 'invalid_body', 'attachment "a.png": '],
  ['an alt of two lines', [...good, field('alt.a.png', 'x\ny')], 400, 'invalid_body', 'attachment "a.png": '],
  [
    'an override in an alt',
    [...good, field('alt.a.png', 'x\u202e')],
    400,
    'invalid_body',
    'attachment "a.png": ',
  ],
  [
    'an alt that is not UTF-8',
    [...good, field('alt.a.png', Buffer.from([0xff]))],
    400,
    'invalid_body',
    'attachment "a.png": ',
  ],
  [
    'a text that is not UTF-8',
    [field('text', Buffer.from([0x61, 0xff])), png('a.png')],
    400,
    'invalid_body',
    'text',
  ],
  ['only a text that is not UTF-8', [field('text', Buffer.from([0xc3]))], 400, 'invalid_body', 'text'],
  [
    'a text of another type',
    [file('text', 'a.html', 'text/html', 'a'), png('a.png')],
    400,
    'invalid_body',
    'text',
  ],
  ['a blank text', [field('text', '\ufeff \n')], 400, 'empty_note'],
  ['an empty text', [field('text', '')], 400, 'empty_note'],
  ['nothing', [], 400, 'invalid_body', 'nothing'],
  ['X-Note-Alt', good, 400, 'invalid_request', 'X-Note-Alt', { 'x-note-alt': 'a' }],
  ['X-Note-Alt*', good, 400, 'invalid_request', 'X-Note-Alt', { 'x-note-alt*': "UTF-8''a" }],
  ['X-Note-Name', good, 400, 'invalid_request', 'X-Note-Name', { 'x-note-name': 'a.png' }],
  ['a bad title', good, 400, 'invalid_request', 'X-Note-Title', { 'x-note-title': 'x'.repeat(101) }],
  ['a bad tag', good, 400, 'invalid_request', 'a b', { 'x-note-tags': 'a b' }],
  [
    'a file of no type',
    [field('text', 'a'), file('file', 'a', undefined, picture('png'))],
    415,
    'unsupported_type',
    '"a"',
  ],
  [
    'an SVG',
    [field('text', 'a'), file('file', 'a.svg', 'image/svg+xml', '<svg/>')],
    415,
    'unsupported_type',
    '"a.svg"',
  ],
  [
    'an empty picture',
    [field('text', 'a'), file('file', 'a', 'image/png', '')],
    415,
    'unsupported_type',
    '"a"',
  ],
  [
    'a picture of another type than it says',
    [field('text', 'a'), png('good'), file('file', 'bad', 'image/gif', picture('png'))],
    415,
    'unsupported_type',
    'attachment "bad": ',
  ],
  [
    'a picture too large',
    [field('text', 'a'), png('good'), file('file', 'big', 'image/png', picture('png', MAX_PICTURE + 1))],
    413,
    'too_large',
    'attachment "big": ',
  ],
  ['a text too large', [field('text', 'x'.repeat(102_401))], 413, 'too_large', 'text'],
  [
    'a text too large beside a picture',
    [png('a'), field('text', 'x'.repeat(102_401))],
    413,
    'too_large',
    'text',
  ],
  [
    'a text that is too large with the stored names',
    [field('text', FULL_TEXT), png('a')],
    413,
    'too_large',
    'text',
  ],
  [
    'more than a form may have',
    [
      field('text', 'a'),
      ...good,
      file('file', 'b', 'image/png', picture('png', largestRequestBytes(MAX_PICTURE))),
    ],
    413,
    'too_large',
  ],
];

/** Bodies that are no form, or only a part of one. */
const whole = formBody(good);
const BODIES: [what: string, body: Buffer<ArrayBuffer> | string, type?: string][] = [
  ['no body', ''],
  ['a body of another boundary', whole, 'multipart/form-data; boundary=other'],
  ['no boundary', whole, 'multipart/form-data'],
  ['an empty boundary', whole, 'multipart/form-data; boundary=""'],
  ['a boundary that is too long', whole, `multipart/form-data; boundary=${'b'.repeat(71)}`],
  ['a body without its end', whole.subarray(0, -6)],
  ['a body that is cut in a picture', whole.subarray(0, -50)],
  ['a body that is cut in a header', whole.subarray(0, 30)],
  ['a part without an end of its header', `--${BOUNDARY}\r\nContent-Disposition: form-data; name="text"`],
  ['a part without a disposition', `--${BOUNDARY}\r\n\r\na\r\n--${BOUNDARY}--\r\n`],
  [
    'a part of an encoding',
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="text"\r\nContent-Transfer-Encoding: base64\r\n\r\nYQ==\r\n--${BOUNDARY}--\r\n`,
  ],
  ['markdown', '# Heading'],
  ['JSON', '{"text": "a"}'],
];

async function polecats(t: Test, env: Record<string, string> = {}): Promise<TestService> {
  const service = await start(t, { SERVICE_MAX_IMAGE_BYTES: String(MAX_PICTURE), ...env });
  await new FeedClient(service.url, 'polecat').postForm(good);
  return service;
}

const service = await polecats(t);
const check = { service, views: [{ path: '/api/v1/feeds/polecat/notes' }], secrets: SECRETS };
const { id } = (await new FeedClient(service.url, 'polecat').post('a note')).json;

/** Where forms are sent: to a feed, a new one, and a note. */
const TARGETS = [
  ['POST', '/polecat'],
  ['POST', '/api/v1/feeds/polecat-new/notes'],
  ['PUT', `/polecat/${id}`],
] as const;

/** A PUT ignores what headers say of the note. */
const isIgnored = (method: string, headers: object) =>
  method === 'PUT' && !('x-note-tags' in headers) && Object.keys(headers).length > 0;

function refused(method: string, path: string): Refused[] {
  const ofParts = ROWS.filter(([, , , , , headers = {}]) => !isIgnored(method, headers)).map(
    ([what, parts, status, code, word, headers]): Refused => ({
      what,
      method,
      path,
      headers: { ...FORM, ...headers },
      body: formBody(parts),
      status,
      code,
      ...(word !== undefined && { word }),
    }),
  );
  const ofBodies = BODIES.map(
    ([what, body, type = FORM_TYPE]): Refused => ({
      what,
      method,
      path,
      headers: { 'content-type': type },
      body,
      status: 400,
      code: 'invalid_body',
    }),
  );
  return [...ofParts, ...ofBodies];
}

for (const [method, path] of TARGETS) {
  t.test(`${method} ${path.replace(id, '{id}')} refuses what the rules of forms forbid`, async (t) => {
    await refusesAll(t, check, refused(method, path));
  });

  t.test(`${method} ${path.replace(id, '{id}')} serves on after each refusal`, async (t) => {
    const connection = await RawConnection.open(service.port);
    t.teardown(() => connection.close());
    for (const { what, headers = {}, body = '', status } of refused(method, path)) {
      const bytes = Buffer.from(body as Uint8Array);
      connection.send(headOf(method, path, { ...headers, 'content-length': String(bytes.length) }));
      connection.send(bytes);
      t.equal((await connection.response()).status, status, what);
      connection.send('GET /health HTTP/1.1\r\nhost: test\r\n\r\n');
      t.equal((await connection.response()).status, 200, `a request after ${what}`);
    }
  });
}

t.test('a form of just the right size is taken after all of them', async (t) => {
  const client = new FeedClient(service.url, 'polecat');
  const largest = file('file', 'a', 'image/png', picture('png', MAX_PICTURE));
  t.equal((await client.postForm([field('text', 'a'), largest])).status, 201);
});

t.test('who may not write is told before the form is looked at', async (t) => {
  const locked = await polecats(t, { SERVICE_PASSWORD: 'let us in', SERVICE_RATE_LIMIT: '50' });
  const bearer = { authorization: 'Bearer let us in' };
  const feed = new FeedClient(locked.url, 'polecat-locked', bearer);
  t.equal((await feed.postForm(good, { 'x-feed-password': 'the secret' })).status, 201);
  const row = { method: 'POST', body: formBody(good), status: 401, code: 'auth' };
  const wrong = { 'x-feed-password': 'wrong' };
  await refusesAll(
    t,
    {
      ...check,
      service: locked,
      views: [
        {
          path: '/api/v1/feeds/polecat-locked/notes',
          headers: { ...bearer, 'x-feed-password': 'the secret' },
        },
      ],
    },
    [
      { ...row, what: 'no instance password', path: '/polecat-new', headers: FORM },
      {
        ...row,
        what: 'a wrong instance password',
        path: '/polecat-new',
        headers: { ...FORM, authorization: 'Bearer x' },
      },
      { ...row, what: 'no feed password', path: '/polecat-locked', headers: { ...FORM, ...bearer } },
      {
        ...row,
        what: 'a wrong feed password',
        path: '/polecat-locked',
        headers: { ...FORM, ...bearer, ...wrong },
      },
      { ...row, what: 'a bad form', path: '/polecat-locked', headers: { ...FORM, ...bearer }, body: 'x' },
      {
        ...row,
        what: 'a bad feed name',
        path: '/Polecat',
        headers: { ...FORM, ...bearer },
        status: 400,
        code: 'invalid_feed',
      },
    ],
  );
});

t.test('switches, caps and conflicts', async (t) => {
  const row = (
    what: string,
    path: string,
    parts: readonly SentPart[],
    status: number,
    code: string,
    headers = {},
  ) => ({
    what,
    method: 'POST',
    path,
    headers: { ...FORM, ...headers },
    body: formBody(parts),
    status,
    code,
  });
  const off = await start(t, { SERVICE_IMAGE_UPLOADS: '0' });
  await refusesAll(t, { ...check, service: off, views: [] }, [
    row('a text with a picture', '/polecat', good, 403, 'images_off'),
    row('only a picture', '/polecat', [png('a.png')], 403, 'images_off'),
    row('a picture with a bad name', '/polecat', [png('/')], 403, 'images_off'),
  ]);

  const capped = await polecats(t, {
    SERVICE_MAX_FEEDS: '1',
    SERVICE_MAX_NOTES_PER_FEED: '1',
    SERVICE_MAX_IMAGES_PER_FEED: '2',
  });
  await refusesAll(t, { ...check, service: capped }, [
    row('another text', '/polecat', good, 507, 'note_limit'),
    row('two pictures where one fits', '/polecat', [png('a'), png('b')], 507, 'image_limit'),
    row('another feed', '/polecat-new', good, 507, 'feed_limit'),
  ]);

  await post(`${service.url}/polecat-other`, 'x', { 'x-read-id': 'taken-id' });
  const pass = { 'x-feed-password': 'secret' };
  await refusesAll(t, check, [
    row('a password for a feed without one', '/polecat', good, 409, 'feed_exists', pass),
    row('a taken read id', '/polecat-new', good, 409, 'taken', { 'x-read-id': 'taken-id' }),
    row('a malformed read id', '/polecat-new', good, 400, 'invalid_request', { 'x-read-id': 'A' }),
    row('a reserved feed', '/login', good, 400, 'reserved_feed'),
  ]);
});

t.test('a length over the limit is refused before the body is sent, and nothing is left', async (t) => {
  const connection = await RawConnection.open(service.port);
  t.teardown(() => connection.close());
  const length = largestRequestBytes(MAX_PICTURE) + 1;
  connection.send(headOf('POST', '/polecat', { ...FORM, 'content-length': String(length) }));
  const { status, body } = await connection.response();
  t.equal(status, 413);
  t.match(JSON.parse(body.toString()), { code: 'too_large', error: new RegExp(String(length - 1)) });
});

t.test('a form that ends too early is refused wherever it ends', async (t) => {
  const before = contents(service.dir);
  const connection = await RawConnection.open(service.port);
  t.teardown(() => connection.close());
  const parts = [field('text', '![A](a.png)'), field('alt.a.png', 'A'), png('a.png')];
  const bytes = formBody(parts);
  // The last line end may be missing.
  const needed = bytes.length - 2;
  for (let length = 0; length < needed; length++) {
    connection.send(headOf('POST', '/polecat', { ...FORM, 'content-length': String(length) }));
    connection.send(bytes.subarray(0, length));
    const { status, body } = await connection.response();
    if (status !== 400) t.equal(status, 400, `${length} bytes: ${body}`);
  }
  t.same(contents(service.dir), before, 'nothing is left of any');
  t.equal((await new FeedClient(service.url, 'polecat').post(bytes.subarray(0, needed), FORM)).status, 201);
});

function headOf(method: string, path: string, headers: Record<string, string>): string {
  const lines = Object.entries({ host: 'test', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

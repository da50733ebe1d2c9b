import t from 'tap';
import { MAX_TEXT_BYTES } from '../../src/config.ts';
import {
  type Multipart,
  type MultipartRequest,
  type MultipartRules,
  readMultipart,
} from '../../src/ingest/multipart.ts';
import {
  BOUNDARY,
  FORM_TYPE,
  field,
  file,
  formBody,
  PiecewiseRequest,
  type SentPart,
} from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { WIRE_FORMS } from '../support/wire-forms.ts';

const RULES: MultipartRules = { maxImageBytes: 1000, imageUploads: true };

function read(parts: readonly SentPart[], rules: MultipartRules = RULES): Promise<Multipart> {
  return readMultipart(new PiecewiseRequest(formBody(parts)), rules);
}

function text(bytes: Uint8Array | undefined): string | undefined {
  return bytes && Buffer.from(bytes).toString();
}

/** A picture under a name. */
function png(name: string, content: string | Uint8Array = 'PNG'): SentPart {
  return file('file', name, 'image/png', content);
}

function repeated<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

for (const { client, type, body, text: wanted, name, alt } of WIRE_FORMS) {
  t.test(`what ${client} sends`, async (t) => {
    const { text: found, pictures } = await readMultipart(
      new PiecewiseRequest(Buffer.from(body), [7], type),
      RULES,
    );
    t.equal(text(found), wanted);
    t.match(pictures, [{ name, type: 'png', alt }]);
    t.equal(text(pictures[0]?.bytes), 'PNG');
  });
}

t.test('what the FormData of this runtime sends', async (t) => {
  const form = new FormData();
  form.append('text', '# Größe');
  form.append('file', new Blob([picture('gif')], { type: 'image/gif' }), 'a"%20\u{1f600}.gif');
  form.append('alt.a"%20\u{1f600}.gif', 'ä');
  const sent = new Response(form);
  const body = new Uint8Array(await sent.arrayBuffer());
  const request = new PiecewiseRequest(body, [100], sent.headers.get('content-type')!);
  const { text: found, pictures } = await readMultipart(request, RULES);
  t.equal(text(found), '# Größe');
  t.match(pictures, [{ name: 'a"%20\u{1f600}.gif', type: 'gif', alt: 'ä' }]);
  t.ok(picture('gif').equals(pictures[0]!.bytes));
});

t.test('a text alone, in each form it may have', async (t) => {
  const forms = [
    field('text', 'hi'),
    { header: 'content-disposition: FORM-DATA; name=text', content: 'hi' },
    { header: 'Content-Disposition: form-data; name="text"\r\nContent-Type: text/plain', content: 'hi' },
    { header: 'Content-Disposition: form-data;\r\n\tname="text"\r\nX-Other: a', content: 'hi' },
    { header: "Content-Disposition: form-data; name*=UTF-8''%74ext; name=other", content: 'hi' },
    { header: 'Content-Disposition: form-data; name=text\r\nContent-Transfer-Encoding: 8Bit', content: 'hi' },
    file('text', 'note.md', 'text/markdown', 'hi'),
    file('text', 'note.md', 'text/markdown; charset=utf-8', 'hi'),
    file('text', 'note.md', 'application/octet-stream', 'hi'),
    file('text', 'note.md', undefined, 'hi'),
    file('text', '../any\tname', '', 'hi'),
  ];
  for (const form of forms) {
    const { text: found, pictures } = await read([form]);
    t.equal(text(found), 'hi', form.header);
    t.same(pictures, [], form.header);
  }
});

t.test('a text is taken byte for byte', async (t) => {
  for (const exact of [
    '\ufeffa',
    ' a ',
    'a\r\n',
    '\r\n',
    '\na\n',
    'a\r',
    '\r\n-',
    '--',
    `\r\n--${BOUNDARY.slice(1)}`,
    'a\0',
  ]) {
    const { text: found } = await read([field('text', exact), png('a.png')]);
    t.equal(text(found), exact);
  }
});

t.test('pictures come in the order in which they arrived, with their alternative texts', async (t) => {
  const { text: found, pictures } = await read([
    field('alt.b.webp', ' before '),
    file('file', 'b.webp', 'image/webp', picture('webp', 1000)),
    file('file', 'a.jpg', 'Image/JPEG; q=1', picture('jpg', 20)),
    field('text', 'hi'),
    png('10', ''),
    field('alt.a.jpg', '\u{1f600}'.repeat(500)),
    file('file', '9', 'image/gif', picture('gif')),
    field('alt.9', ''),
  ]);
  t.equal(text(found), 'hi');
  t.same(
    pictures.map(({ name, type, alt, bytes }) => [name, type, alt, bytes.length]),
    [
      ['b.webp', 'webp', 'before', 1000],
      ['a.jpg', 'jpg', '\u{1f600}'.repeat(500), 20],
      ['10', 'png', undefined, 0],
      ['9', 'gif', undefined, 64],
    ],
  );
  t.ok(picture('webp', 1000).equals(pictures[0]!.bytes));
  t.ok(picture('jpg', 20).equals(pictures[1]!.bytes));
});

t.test('file names arrive as they were, however they are sent', async (t) => {
  const names: [sent: string, name: string][] = [
    ['filename="a%22b.png"', 'a"b.png'],
    ['filename="a\\"b.png"', 'a"b.png'],
    ['filename="größe.png"', 'größe.png'],
    ['filename=a.png', 'a.png'],
    ['filename="a%20b%2f%0a.png"', 'a%20b%2f%0a.png'],
    ["filename*=UTF-8''gr%C3%B6%C3%9Fe%20%22.png", 'größe ".png'],
    ["filename*=utf-8'de'a%2522.png", 'a%22.png'],
    ['filename="a.png"; filename*=UTF-8\'\'b.png', 'b.png'],
    ['filename*=UTF-8\'\'b.png; filename="a/a"', 'b.png'],
    ['filename="=?utf-8?B?YQ==?="', '=?utf-8?B?YQ==?='],
    ['filename="a;b=c.png"', 'a;b=c.png'],
  ];
  for (const [sent, name] of names) {
    const header = `Content-Disposition: form-data; name="file"; ${sent}\r\nContent-Type: image/png`;
    t.equal((await read([{ header, content: 'PNG' }])).pictures[0]?.name, name, sent);
  }
});

t.test('the limits themselves are not over the limits', async (t) => {
  const { text: found, pictures } = await read([
    field('text', Buffer.alloc(MAX_TEXT_BYTES, 'a')),
    ...repeated(10, (i) => png(`${i}`, Buffer.alloc(1000))),
    ...repeated(10, (i) => field(`alt.${i}`, 'a'.repeat(500))),
  ]);
  t.equal(found?.length, MAX_TEXT_BYTES);
  t.same(
    pictures.map(({ bytes }) => bytes.length),
    repeated(10, () => 1000),
  );
});

t.test('a blank text may come with pictures', async (t) => {
  t.equal(text((await read([field('text', ' \n'), png('a')])).text), ' \n');
});

const disposition = (rest: string): SentPart => ({ header: `Content-Disposition: ${rest}`, content: '' });

const refused: [what: string, parts: readonly SentPart[], code: string, message: RegExp][] = [
  ['no part', [], 'invalid_body', /nothing to post/],
  ['a blank text', [field('text', ' \t\r\n\ufeff')], 'empty_note', /empty/],
  ['an empty text', [field('text', '')], 'empty_note', /empty/],
  ['two texts', [field('text', 'a'), field('text', 'b')], 'invalid_body', /more than one text/],
  ['a text in Latin-1', [field('text', Buffer.from('gr\xf6\xdfe', 'latin1'))], 'invalid_body', /not UTF-8/],
  ['a text file of plain text', [file('text', 'a', 'text/plain', 'a')], 'invalid_body', /text\/markdown/],
  [
    'a text of another charset',
    [file('text', 'a', 'text/markdown; charset=latin1', 'a')],
    'invalid_body',
    /UTF-8/,
  ],
  ['a picture as text', [file('text', 'a', 'image/png', 'a')], 'invalid_body', /text\/markdown/],
  ['a text too large', [field('text', Buffer.alloc(MAX_TEXT_BYTES + 1, 'a'))], 'too_large', /text .* 102400/],
  ['a picture too large', [png('a', Buffer.alloc(1001))], 'too_large', /^attachment "a": .* 1000 bytes/],
  ['another part', [field('title', 'a')], 'invalid_body', /^The part "title" is none of text, file/],
  ['another part with controls', [field('ti\ttle', 'a')], 'invalid_body', /"ti\ufffdtle"/],
  ['a part named Text', [field('Text', 'a')], 'invalid_body', /"Text"/],
  ['a part named alt', [field('alt', 'a')], 'invalid_body', /"alt"/],
  ['a file part without a file name', [field('file', 'a')], 'invalid_body', /must have a name/],
  ['an empty file name', [png('')], 'invalid_body', /must have a name/],
  ['a path', [png('a/b.png')], 'invalid_body', /^attachment "a\ufffdb.png": /],
  ['a backslash', [png('a\\b.png')], 'invalid_body', /^attachment "a\ufffdb.png": /],
  ['an escaped backslash', [png('a\\\\b.png')], 'invalid_body', /^attachment "a\ufffdb.png": /],
  ['a line break', [png('a%0Ab')], 'invalid_body', /^attachment "a\ufffdb": .* one line/],
  ['a carriage return', [png('a%0Db')], 'invalid_body', /^attachment "a\ufffdb": .* one line/],
  ['a NUL', [png('a\0b')], 'invalid_body', /^attachment "a\ufffdb": /],
  ['an override', [png('a\u202eb')], 'invalid_body', /^attachment "a\ufffdb": /],
  ['a space at the end', [png('a ')], 'invalid_body', /^attachment "a ": .* space/],
  ['two dots', [png('..')], 'invalid_body', /^attachment "..": .* dots/],
  ['a name of 201', [png('a'.repeat(201))], 'invalid_body', /^attachment "a{201}": .* 200/],
  ['a raw quote in a name', [png('a"b')], 'invalid_body', /well-formed/],
  ['a name twice', [png('a'), png('a')], 'invalid_body', /^attachment "a": there are two files/],
  [
    'a name twice, sent in two ways',
    [png('a%22'), png('a\\"')],
    'invalid_body',
    /^attachment "a"": there are/,
  ],
  ['11 files', repeated(11, (i) => png(`${i}`)), 'invalid_body', /at most 10 files/],
  ['11 alternative texts', repeated(11, (i) => field(`alt.${i}`, '')), 'invalid_body', /at most 10 files/],
  ['SVG', [file('file', 'a', 'image/svg+xml', '')], 'unsupported_type', /^attachment "a": .*image\/webp/],
  ['a picture without a type', [file('file', 'a', undefined, 'a')], 'unsupported_type', /^attachment "a": /],
  [
    'a picture of unknown type',
    [file('file', 'a', 'application/octet-stream', '')],
    'unsupported_type',
    /"a"/,
  ],
  [
    'an alternative text of no file',
    [png('a'), field('alt.b', '')],
    'invalid_body',
    /^attachment "b": .*no file/,
  ],
  ['an alternative text alone', [field('text', 'a'), field('alt.a', 'a')], 'invalid_body', /^attachment "a"/],
  ['two alternative texts', [field('alt.a', ''), field('alt.a', '')], 'invalid_body', /"a": there are two/],
  ['an alternative text of no name', [field('alt.', '')], 'invalid_body', /must have a name/],
  [
    'an alternative text of two lines',
    [field('alt.a', 'a\nb')],
    'invalid_body',
    /^attachment "a": .*one line/,
  ],
  ['an alternative text of 501', [field('alt.a', 'a'.repeat(501))], 'invalid_body', /"a": .*at most 500/],
  ['an endless alternative text', [field('alt.a', ' '.repeat(8193))], 'invalid_body', /"a": .*at most 500/],
  ['an alternative text in Latin-1', [field('alt.a', Buffer.from([0xe4]))], 'invalid_body', /"a": .*UTF-8/],
  [
    'no disposition',
    [{ header: 'Content-Type: text/markdown', content: 'a' }],
    'invalid_body',
    /Disposition/,
  ],
  ['no header', [{ header: '', content: 'a' }], 'invalid_body', /Disposition/],
  ['an attachment', [disposition('attachment; name="text"')], 'invalid_body', /Disposition/],
  ['no name', [disposition('form-data')], 'invalid_body', /must have a name/],
  ['an open quote', [disposition('form-data; name="text')], 'invalid_body', /well-formed/],
  ['two names', [disposition('form-data; name=text; name=text')], 'invalid_body', /well-formed/],
  [
    'two dispositions',
    [disposition('form-data; name=text\r\nContent-Disposition: form-data')],
    'invalid_body',
    /more than one/,
  ],
  [
    'two types',
    [disposition('form-data; name=text\r\nContent-Type: a\r\nContent-Type: b')],
    'invalid_body',
    /more than one/,
  ],
  ['a line without a colon', [disposition('form-data; name\r\n="text"')], 'invalid_body', /well-formed/],
  ['a bare line feed', [disposition('form-data;\nname="text"')], 'invalid_body', /well-formed/],
  [
    'a name of another charset',
    [disposition("form-data; name*=latin1''text")],
    'invalid_body',
    /name\*.*RFC 8187/,
  ],
  [
    'a broken file name',
    [disposition("form-data; name=file; filename*=UTF-8''%ff")],
    'invalid_body',
    /filename\*/,
  ],
  [
    'base64',
    [disposition('form-data; name=text\r\nContent-Transfer-Encoding: base64')],
    'invalid_body',
    /as they are/,
  ],
  [
    'a long header',
    [disposition(`form-data; name=text\r\nX: ${'a'.repeat(8192)}`)],
    'invalid_body',
    /8192 bytes/,
  ],
  [
    'many header lines',
    [disposition(`form-data; name=text${'\r\na:'.repeat(9000)}`)],
    'invalid_body',
    /8192 bytes/,
  ],
];
for (const [what, parts, code, message] of refused) {
  t.test(`refused: ${what}`, (t) => t.rejects(read(parts), { name: 'Refusal', code, message }));
}

t.test('refused: a file name that is not UTF-8', async (t) => {
  const latin1 = Buffer.from(
    formBody([png('oe.png')])
      .toString()
      .replace('oe', '\u00f6'),
    'latin1',
  );
  await t.rejects(readMultipart(new PiecewiseRequest(latin1), RULES), {
    code: 'invalid_body',
    message: /not UTF-8/,
  });
});

t.test('pictures are refused where they are off, texts are not', async (t) => {
  const off = { ...RULES, imageUploads: false };
  await t.rejects(read([field('text', 'a'), file('file', '/', 'image/svg+xml', '')], off), {
    code: 'images_off',
  });
  t.equal(text((await read([field('text', 'a')], off)).text), 'a');
});

const broken: [what: string, body: string | Buffer, message: RegExp][] = [
  ['nothing', '', /ends too early/],
  ['another boundary', formBody([field('text', 'a')], 'other'), /ends too early/],
  ['another boundary, and much', formBody([field('text', 'a'.repeat(150_000))], 'other'), /does not begin/],
  ['only the first boundary', `--${BOUNDARY}`, /ends too early|no header/],
  ['only the last boundary', `--${BOUNDARY}--`, /nothing to post/],
  ['two boundaries', `--${BOUNDARY}\r\n--${BOUNDARY}--`, /no header/],
  ['a header cut off by a boundary', `--${BOUNDARY}\r\nContent-Dis\r\n--${BOUNDARY}--`, /no header/],
  ['an endless header', `--${BOUNDARY}\r\n${'a: b\r\n'.repeat(25_000)}`, /8192 bytes/],
  ['an endless header line', `--${BOUNDARY}\r\na: ${'b'.repeat(150_000)}`, /8192 bytes/],
  ['an endless folded line', `--${BOUNDARY}\r\na: b${'\r\n c'.repeat(35_000)}`, /8192 bytes/],
];
for (const [what, body, message] of broken) {
  t.test(`refused: ${what}`, async (t) => {
    const request = new PiecewiseRequest(Buffer.from(body));
    await t.rejects(readMultipart(request, RULES), { name: 'Refusal', code: 'invalid_body', message });
  });
}

t.test('a body without a usable boundary is refused before it is read', async (t) => {
  const request = new PiecewiseRequest(formBody([]), [1], 'multipart/form-data');
  await t.rejects(readMultipart(request, RULES), { code: 'invalid_body', message: /boundary/ });
  t.equal(request.arrived, 0);
});

t.test('what stands before the first boundary and after the last is passed over', async (t) => {
  const body = formBody([field('text', 'a')]);
  const around = Buffer.concat([
    Buffer.from('hello\r\n'),
    body,
    Buffer.from(`--${BOUNDARY}\r\n\r\nb\r\n--${BOUNDARY}--\r\n`),
    Buffer.alloc(150_000, '\r\n--'),
  ]);
  for (const sizes of [[512 * 1024], [1000], [7]])
    t.equal(text((await readMultipart(new PiecewiseRequest(around, sizes), RULES)).text), 'a');
});

t.test('the type may name the boundary in quotes', async (t) => {
  const boundary = "a 'b' (c):/=?";
  const request = new PiecewiseRequest(
    formBody([field('text', 'a')], boundary),
    [1],
    `Multipart/Form-Data; charset=utf-8; Boundary="${boundary}"`,
  );
  t.equal(text((await readMultipart(request, RULES)).text), 'a');
  t.equal(FORM_TYPE.includes('"'), false, 'the other tests name it without');
});

/** A request whose body comes as `send` says. */
function sentBy(send: (onPiece: (piece: Uint8Array) => void) => Promise<void>): MultipartRequest {
  return {
    contentLength: undefined,
    header: () => FORM_TYPE,
    body: async (_limit, onPiece) => {
      await send(onPiece);
      return new Uint8Array(0);
    },
  };
}

t.test('pieces that arrive in one turn of the event loop are read in turns of their own', async (t) => {
  const body = new Uint8Array(formBody([field('text', 'a'.repeat(1000))]));
  let turns = 0;
  let counting = setImmediate(function count() {
    turns++;
    counting = setImmediate(count);
  });
  const request = sentBy(async (onPiece) => {
    for (let at = 0; at < body.length; at += 10) onPiece(body.subarray(at, at + 10));
  });
  await readMultipart(request, RULES);
  clearImmediate(counting);
  t.ok(turns >= Math.floor(body.length / 10), `${turns} turns`);
});

t.test('what ends the body early is thrown, and not what of it is still to be read', async (t) => {
  const gone = new Error('gone');
  const request = sentBy(async (onPiece) => {
    const body = new Uint8Array(formBody([field('other', 'a')]));
    onPiece(body.subarray(0, 5));
    onPiece(body.subarray(5));
    throw gone;
  });
  await t.rejects(readMultipart(request, RULES), gone);
});

t.test('what becomes of the body after a refusal does not matter', async (t) => {
  const { promise, reject } = Promise.withResolvers<void>();
  const body = new Uint8Array(formBody([field('other', 'a')]));
  let send: () => void = () => {};
  const request = sentBy(async (onPiece) => {
    send = () => onPiece(body);
    send();
    await promise;
  });
  await t.rejects(readMultipart(request, RULES), { code: 'invalid_body', message: /"other"/ });
  send();
  reject(new Error('gone'));
  await new Promise(setImmediate);
});

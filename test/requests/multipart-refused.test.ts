/** What readers of multipart bodies refuse, and what they say. */
import t from 'tap';
import { MAX_TEXT_BYTES } from '../../src/feeds/limits.ts';
import { readMultipart } from '../../src/requests/multipart.ts';
import {
  BOUNDARY,
  field,
  file,
  formBody,
  PiecewiseRequest,
  png,
  RULES,
  read,
  repeated,
  type SentPart,
  textOf,
} from '../support/multipart.ts';
import { NO_LIMITS } from '../support/storing.ts';

const disposition = (rest: string): SentPart => ({ header: `Content-Disposition: ${rest}`, content: '' });

const refused: [what: string, parts: readonly SentPart[], code: string, message: RegExp][] = [
  ['no part', [], 'invalid_body', /nothing to post/],
  ['two texts', [field('text', 'a'), field('text', 'b')], 'invalid_body', /more than one text/],
  ['a text in Latin-1', [field('text', Buffer.from('gr\xf6\xdfe', 'latin1'))], 'invalid_body', /not UTF-8/],
  [
    'a text file of plain text',
    [file('text', 'a', 'text/plain', 'a')],
    'unsupported_type',
    /^text: .*text\/markdown/,
  ],
  [
    'a text of another charset',
    [file('text', 'a', 'text/markdown; charset=latin1', 'a')],
    'unsupported_type',
    /UTF-8/,
  ],
  ['a picture as text', [file('text', 'a', 'image/png', 'a')], 'unsupported_type', /^text: .*text\/markdown/],
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
  [
    '11 alternative texts',
    repeated(11, (i) => field(`alt.${i}`, '')),
    'invalid_body',
    /at most 10 alternative texts/,
  ],
  ['SVG', [file('file', 'a', 'image/svg+xml', '')], 'unsupported_type', /^attachment "a": .*image\/webp/],
  [
    'a picture without a type',
    [file('file', 'a', undefined, 'a')],
    'unsupported_type',
    /^attachment "a": its part has no Content-Type; it must be image\/png, /,
  ],
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
    'a space before the colon',
    [disposition('form-data; name=text\r\nContent-Transfer-Encoding : base64')],
    'invalid_body',
    /name and a colon/,
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
  const off = { ...RULES, limits: { ...NO_LIMITS, picturesRefused: 'images_off' as const } };
  await t.rejects(read([field('text', 'a'), file('file', '/', 'image/svg+xml', '')], off), {
    code: 'images_off',
    message: /^attachment "\ufffd": this instance takes no pictures\.$/,
  });
  t.equal(textOf((await read([field('text', 'a')], off)).text), 'a');
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

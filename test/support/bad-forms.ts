/** Forms that break the rules of docs/specification.md ("Multipart parts"), and how each must be refused. */
import { largestRequestBytes } from '../../src/feeds/limits.ts';
import { BOUNDARY, field, file, formBody, type SentPart } from './multipart.ts';
import { picture } from './pictures.ts';

/** Bytes of the largest picture that the service which gets these forms must take. */
export const MAX_PICTURE = 5_000;
/** A text that fits, but not with a picture added. */
const FULL_TEXT = 'x'.repeat(102_395);

/** A picture under a name. */
export function png(name: string): SentPart {
  return file('file', name, 'image/png', picture('png'));
}

/** A text and a picture that are taken. */
export const GOOD_PARTS: readonly SentPart[] = [field('text', 'a'), png('a.png')];

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

/** Well-formed bodies that say what must not be said. */
export const BAD_PARTS: readonly Row[] = [
  ...BAD_NAMES.flatMap(([what, sent, shown = sent]): Row[] => {
    const told = `attachment "${shown}": `;
    return [
      [`a name with ${what}`, [field('text', 'a'), png(sent)], 400, 'invalid_body', told],
      [
        `an alt for a name with ${what}`,
        [field(`alt.${sent}`, 'a'), ...GOOD_PARTS],
        400,
        'invalid_body',
        told,
      ],
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
  ['two files of one name', [...GOOD_PARTS, png('a.png')], 400, 'invalid_body', 'attachment "a.png": '],
  ['two names that decode to one', [png('a%22b'), png('a\\"b')], 400, 'invalid_body', 'a"b'],
  ['11 files', Array.from({ length: 11 }, (_, i) => png(`${i}.png`)), 400, 'invalid_body', '10'],
  ['a part of another name', [...GOOD_PARTS, field('other', 'x')], 400, 'invalid_body', 'The part "other"'],
  [
    'a part whose name must not be shown',
    [...GOOD_PARTS, field('a\u202e%0A', 'x')],
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
  ['a second text', [...GOOD_PARTS, field('text', 'b')], 400, 'invalid_body', 'text'],
  [
    'an alt of no file',
    [...GOOD_PARTS, field('alt.b.png', 'x')],
    400,
    'invalid_body',
    'attachment "b.png": ',
  ],
  ['only an alt', [field('alt.b.png', 'x')], 400, 'invalid_body', 'attachment "b.png": '],
  [
    'two alts of one file',
    [...GOOD_PARTS, field('alt.a.png', 'x'), field('alt.a.png', 'x')],
    400,
    'invalid_body',
    'attachment "a.png": ',
  ],
  [
    'a long alt',
    [...GOOD_PARTS, field('alt.a.png', 'x'.repeat(501))],
    400,
    'invalid_body',
    'attachment "a.png": ',
  ],
  [
    'an alt of two lines',
    [...GOOD_PARTS, field('alt.a.png', 'x\ny')],
    400,
    'invalid_body',
    'attachment "a.png": ',
  ],
  [
    'an override in an alt',
    [...GOOD_PARTS, field('alt.a.png', 'x\u202e')],
    400,
    'invalid_body',
    'attachment "a.png": ',
  ],
  [
    'an alt that is not UTF-8',
    [...GOOD_PARTS, field('alt.a.png', Buffer.from([0xff]))],
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
    415,
    'unsupported_type',
    'text',
  ],
  ['a blank text', [field('text', '\ufeff \n')], 400, 'empty_note'],
  ['an empty text', [field('text', '')], 400, 'empty_note'],
  ['nothing', [], 400, 'invalid_body', 'nothing'],
  ['X-Note-Alt', GOOD_PARTS, 400, 'invalid_request', 'X-Note-Alt', { 'x-note-alt': 'a' }],
  ['X-Note-Alt*', GOOD_PARTS, 400, 'invalid_request', 'X-Note-Alt', { 'x-note-alt*': "UTF-8''a" }],
  ['X-Note-Name', GOOD_PARTS, 400, 'invalid_request', 'X-Note-Name', { 'x-note-name': 'a.png' }],
  ['a bad title', GOOD_PARTS, 400, 'invalid_request', 'X-Note-Title', { 'x-note-title': 'x'.repeat(101) }],
  ['a bad tag', GOOD_PARTS, 400, 'invalid_request', 'a b', { 'x-note-tags': 'a b' }],
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
      ...GOOD_PARTS,
      file('file', 'b', 'image/png', picture('png', largestRequestBytes(MAX_PICTURE))),
    ],
    413,
    'too_large',
  ],
];

const whole = formBody(GOOD_PARTS);

/** Bodies that are no form, or only a part of one, with their type where it is another: all are `invalid_body`. */
export const BAD_BODIES: readonly [what: string, body: Buffer<ArrayBuffer> | string, type?: string][] = [
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

/** Forms as clients send them, nearly right ones, and bytes that are none. */
import fc from 'fast-check';
import { field, file, formBody, type SentPart } from '../multipart.ts';
import { anyText, type Body, headerText, pictureBody, textBytes } from './values.ts';

const { constantFrom, oneof } = fc;

const NAMES = ['a.png', 'b c.gif', 'größe.webp', 'd%22.jpg', '%61.png'] as const;

/** Pieces of texts that refer to pictures in all ways, or seem to. */
const REFERENCES = [
  '![x](a.png) ',
  '![x](<b c.gif> "title")\n',
  '![x](gr%C3%B6%C3%9Fe.webp)',
  '[r]: a.png\n\n',
  '\n\n![r]',
  '![x][r]',
  '[![x](a.png)](a.png)',
  '`![x](a.png)`',
  '\n```\n',
  '\n> ',
  '\n- ',
  '\r\n\r\n',
  '<!--',
  '\ufeff',
  '\\',
];

const formText = oneof(
  textBytes,
  fc.array(constantFrom(...REFERENCES), { minLength: 1 }).map((all) => Buffer.from(all.join(''))),
);

/** A file name as it is sent: right, or any. A double quote in it ends it. */
const fileName = oneof(
  { weight: 6, arbitrary: constantFrom<string>(...NAMES) },
  { weight: 1, arbitrary: anyText },
);

const textPart = fc
  .record({ text: formText, asFile: fc.boolean() })
  .map(({ text, asFile }) => (asFile ? file('text', 'note.md', 'text/markdown', text) : field('text', text)));

const filePart = fc
  .record({ name: fileName, picture: pictureBody })
  .map(({ name, picture }) => file('file', name, picture.type, picture.bytes));

const altPart = fc.record({ name: fileName, alt: anyText }).map(({ name, alt }) => field(`alt.${name}`, alt));

/** Headers that no client should send. */
const ODD_HEADERS = [
  '',
  'no colon',
  ':\r\n:',
  'Content-Disposition: form-data',
  'Content-Disposition: attachment; name="text"',
  'Content-Disposition: form-data; name="text',
  'Content-Disposition: form-data; name="text"; name="file"',
  'Content-Disposition: form-data; name="file"; filename*=UTF-8\'\'%zz\r\nContent-Type: image/png',
  'Content-Disposition: form-data; name="file"; filename*=latin1\'\'%e9\r\nContent-Type: image/png',
  'Content-Disposition: form-data; name="text"\r\nContent-Transfer-Encoding: base64',
  'Content-Disposition: form-data; name="bogus"',
  `Content-Disposition: form-data; name="${'n'.repeat(20_000)}"`,
  `X: ${'x'.repeat(100_000)}`,
  'X: y\r\n'.repeat(5_000).trimEnd(),
];

const oddPart: fc.Arbitrary<SentPart> = fc.record({
  header: oneof(
    constantFrom(...ODD_HEADERS),
    headerText.map((text) => `Content-Disposition: form-data; name="file"; filename="${text}"; ${text}`),
  ),
  content: formText,
});

/** What a client means to send: a text, some pictures with names of their own, alternative texts of some. */
const goodParts: fc.Arbitrary<SentPart[]> = fc
  .record({
    text: fc.option(textPart, { freq: 4 }),
    pictures: fc.uniqueArray(fc.tuple(constantFrom(...NAMES), pictureBody), { selector: ([name]) => name }),
    hasAlts: fc.boolean(),
  })
  .map(({ text, pictures, hasAlts }) => [
    ...(text ? [text] : []),
    ...pictures.flatMap(([name, { type, bytes }]) => [
      file('file', name, type, bytes),
      ...(hasAlts ? [field(`alt.${name}`, 'an alternative text')] : []),
    ]),
  ]);

const anyParts = oneof(
  { weight: 5, arbitrary: goodParts },
  { weight: 2, arbitrary: fc.array(oneof(textPart, filePart, altPart), { maxLength: 13 }) },
  { weight: 1, arbitrary: fc.array(oneof(textPart, filePart, oddPart), { minLength: 1, maxLength: 5 }) },
  {
    weight: 1,
    arbitrary: constantFrom(field('text', ''), field('', '')).map((part) => Array(5_000).fill(part)),
  },
);

const BOUNDARIES = ['fuzz-boundary', '-', '--', `--${'b'.repeat(68)}`, "'()+_,./:=?"];

/** What becomes of a whole body on its way. */
type Spoil = (body: Buffer, at: number, byte: number) => Uint8Array;

const SPOILS: Spoil[] = [
  (body, at) => body.subarray(0, at),
  (body, at) => body.subarray(at),
  (body, at, byte) => body.with(at, byte),
  (body, at, byte) => Buffer.concat([body.subarray(0, at), body.subarray(at + byte)]),
  (body, at, byte) => Buffer.concat([body.subarray(0, at), body.subarray(Math.max(0, at - byte))]),
  (body) => Buffer.from(body.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
  (body, _, byte) =>
    Buffer.concat([Buffer.alloc(byte, '-'), Buffer.from('\r\n'), body, Buffer.alloc(byte, '-')]),
  (body) => Buffer.concat([body, body]),
];

/** A body of the type `multipart/form-data`; about half of them are as they should be. */
export const formRequest: fc.Arbitrary<Body> = fc
  .record({
    parts: anyParts,
    boundary: oneof({ weight: 8, arbitrary: fc.constant(BOUNDARIES[0]!) }, constantFrom(...BOUNDARIES)),
    said: oneof(
      { weight: 12, arbitrary: fc.constant(undefined) },
      constantFrom('', '""', 'other', 'b'.repeat(71)),
    ),
    spoil: oneof({ weight: 3, arbitrary: fc.constant(undefined) }, constantFrom(...SPOILS)),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    byte: fc.nat({ max: 255 }),
  })
  .map(({ parts, boundary, said = `"${boundary}"`, spoil, at, byte }) => {
    const body = formBody(parts, boundary);
    return {
      type: `multipart/form-data; boundary=${said}`,
      bytes: spoil ? Buffer.from(spoil(body, Math.floor(at * body.length), byte)) : body,
    };
  });

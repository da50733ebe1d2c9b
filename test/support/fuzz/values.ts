/** Values as clients send them: right ones, nearly right ones and nonsense. */
import fc from 'fast-check';
import { picture } from '../pictures.ts';

/** Passwords of the service under test. */
export const INSTANCE_PASSWORD = 'instance password of the fuzz test';
export const FEED_PASSWORD = 'feed password of the fuzz test';
export const OPERATOR_TOKEN = 'operator token of the fuzz test, long enough';
export const RESERVED_PASSWORD = 'reserved password of the fuzz test';

/** Feeds that may have any password or none; they come and go. */
export const FEEDS = ['fuzzed-write-key-a', 'fuzzed-write-key-b', 'fuzzed-write-key-c'] as const;
/** Feeds whose requests carry a password as a rule. */
export const LOCKED_FEEDS = ['fuzzed-locked-key-a', 'fuzzed-locked-key-b'] as const;
export const RESERVED_FEED = 'fuzzed-reserved';

/** What a client reads in an answer and uses later: `{url 3}`, `{id 3}`, `{file 3}`, `{read 3}` stand for it. */
export const known = (kind: 'url' | 'id' | 'file' | 'read') =>
  fc.nat({ max: 30 }).map((number) => `{${kind} ${number}}`);

const { constantFrom, oneof } = fc;
const usually = <T>(value: fc.Arbitrary<T>, else_: fc.Arbitrary<T>, weight = 6) =>
  oneof({ weight, arbitrary: value }, { weight: 1, arbitrary: else_ });

const MARKDOWN = [
  '# A heading\n\n',
  'some *words* and [a link](https://example.org)\n',
  '![a picture]({file 1})\n',
  '- one\n  - two\n\n',
  '> quoted\n',
  '```\n<code>\n```\n',
  '<script>alert(1)</script>',
  '| a | b |\n|---|---|\n| c | d |\n',
  '&amp; &#0; &bogus;',
  '\u0000\u0008\u202e]]>\u2028',
  '\r\n',
];

/** Any text, with control characters, marks of direction and letters beyond the first plane. */
export const anyText = oneof(fc.string(), fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));

/** Texts of notes: blank, not UTF-8 at all, and a few at the limit of size, because they make every list slow. */
export const textBytes: fc.Arbitrary<Buffer> = oneof(
  {
    weight: 40,
    arbitrary: fc.array(constantFrom(...MARKDOWN), { minLength: 1 }).map((all) => Buffer.from(all.join(''))),
  },
  { weight: 15, arbitrary: anyText.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.integer({ min: -1, max: 1 }).map((n) => Buffer.alloc(100 * 1024 + n, 'word ')) },
  { weight: 5, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
);

const PICTURE_MEDIA = { png: 'image/png', jpg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp' } as const;
const kinds = constantFrom(...(Object.keys(PICTURE_MEDIA) as (keyof typeof PICTURE_MEDIA)[]));

/** A body and its media type. */
export interface Body {
  readonly type: string | undefined;
  readonly bytes: Buffer;
}

const wrongType = constantFrom(
  undefined,
  'text/plain',
  'image/svg+xml',
  'image/png',
  'TEXT/MARKDOWN ; charset="utf-8"',
  'text/markdown; charset=latin1',
  'application/json',
  'multipart/form-data',
  ';;;',
  'a'.repeat(300),
);

/** A picture of any type and its media type. */
export const pictureBody: fc.Arbitrary<Body> = fc
  .record({
    kind: kinds,
    size: oneof({ weight: 9, arbitrary: fc.integer({ min: 12, max: 600 }) }, fc.constant(70_000)),
    seed: fc.nat(),
  })
  .map(({ kind, size, seed }) => ({ type: PICTURE_MEDIA[kind], bytes: picture(kind, size, seed) }));

/** What is posted as a note, and what is put in its place. */
export const noteBody: fc.Arbitrary<Body> = fc
  .record({
    body: oneof(
      {
        weight: 3,
        arbitrary: textBytes.map((bytes): Body => ({ type: 'text/markdown', bytes })),
      },
      { weight: 1, arbitrary: pictureBody },
    ),
    type: usually<string | undefined | null>(fc.constant(null), wrongType, 12),
  })
  .map(({ body, type }) => (type === null ? body : { ...body, type }));

const jsonText = usually<unknown>(constantFrom('', 'a title', ' trimmed ', 'x'.repeat(500)), anyText);
const readIdText = usually<unknown>(
  oneof(constantFrom('', 'chosen-one', 'chosen-two', 'api', 'A B', 'x'), known('read')),
  anyText,
);

/** JSON as the operations want it, with members missing or of other types. */
const wantedJson = oneof(
  fc.record(
    {
      title: usually(jsonText, fc.jsonValue()),
      description: usually(jsonText, fc.jsonValue()),
      show_sender: usually<unknown>(fc.boolean(), fc.jsonValue()),
      image: usually<unknown>(oneof(known('file'), fc.constant('')), fc.jsonValue()),
      read_id: usually<unknown>(readIdText, fc.jsonValue()),
    },
    { requiredKeys: [] },
  ),
  fc.record({ title: jsonText, description: jsonText }),
  fc.record({ title: jsonText, alt: jsonText }, { requiredKeys: [] }),
  fc.record({ password: usually<unknown>(fc.constant(FEED_PASSWORD), fc.jsonValue()) }),
);

const HOSTILE_JSON = [
  '',
  'null',
  '{"title":"\\ud800","description":"\\u0000"}',
  '{"__proto__":{"title":"x"},"title":"a","title":"b","description":"c"}',
  `${'['.repeat(4000)}${']'.repeat(4000)}`,
  '['.repeat(8000),
  '1e999',
  '{"title":"a","description":"b"} {}',
  '\ufeff{"title":"a","description":"b"}',
  `{"title":"a","description":"b","x":"${'x'.repeat(8 * 1024)}"}`,
];

/** What is sent where JSON is wanted. */
export const jsonBody: fc.Arbitrary<Body> = fc
  .record({
    text: oneof(
      { weight: 8, arbitrary: wantedJson.map((value) => JSON.stringify(value)) },
      { weight: 2, arbitrary: fc.json() },
      { weight: 1, arbitrary: constantFrom(...HOSTILE_JSON) },
      { weight: 1, arbitrary: wantedJson.map((value) => JSON.stringify(value).slice(0, -2)) },
    ),
    type: usually<string | undefined>(fc.constant('application/json'), wrongType),
  })
  .map(({ text, type }) => ({ type, bytes: Buffer.from(text) }));

/** Bodies of any kind, for operations that want another one or none. */
export const anyBody: fc.Arbitrary<Body> = oneof(
  fc.constant({ type: undefined, bytes: Buffer.alloc(0) }),
  noteBody,
  jsonBody,
);

/** A path segment that is not what belongs there. Percent-encoded, rightly or wrongly. */
export const oddSegment = oneof(
  anyText.map(percentEncoded),
  constantFrom('%', '%zz', '%ff', '%00', '%2e%2e', '..', '%2F', 'A', 'x'.repeat(65), '.readid', 'a.md', '~'),
);

/** A header value: UTF-8 text without what ends a line, and encoded words of the known forms. */
export const headerText = oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  constantFrom(
    "UTF-8''caf%C3%A9",
    "UTF-8''%zz",
    '=?UTF-8?B?w6k=?=',
    '=?UTF-8?Q?=zz?=',
    '',
    'a, B, a',
    'x'.repeat(600),
  ),
).map((text) => text.replace(/[\0-\x1f\x7f]/gu, ' '));

/** Percent-encodes a text, lone surrogates as the sign that stands for what cannot be shown. */
export function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

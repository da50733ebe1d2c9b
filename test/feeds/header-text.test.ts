import fc from 'fast-check';
import t from 'tap';
import { decodeExtended, decodeWords } from '../../src/feeds/header-text.ts';

const REFUSED = { name: 'Refusal', code: 'invalid_request', message: /^X-Note-Title/ };

const extended: [value: string, text: string][] = [
  ["UTF-8''caf%C3%A9", 'café'],
  ["utf-8'de'Gr%c3%b6%C3%9Fe", 'Größe'],
  ["UTF-8''", ''],
  ["UTF-8''a!#$&+.^_`|~-*'()1", "a!#$&+.^_`|~-*'()1"],
  ["UTF-8''%00%0A", '\0\n'],
];
for (const [value, text] of extended) {
  t.test(`extended: ${value}`, async (t) => t.equal(decodeExtended('X-Note-Title*', value), text));
}
const wrongExtended = [
  '',
  'caf%C3%A9',
  "UTF-8'caf",
  "''a",
  "ISO-8859-1''caf%E9",
  "UTF-8''a b",
  "UTF-8''a%",
  "UTF-8''%4",
  "UTF-8''%zz",
  "UTF-8''%C3",
  "UTF-8''%ED%A0%80",
  "UTF-8''é",
  "xUTF-8''a",
  "UTF-8''a\"b",
];
for (const value of wrongExtended) {
  t.test(`extended, refused: ${value}`, async (t) => {
    t.throws(() => decodeExtended('X-Note-Title*', value), REFUSED);
  });
}
t.test('extended: what encodeURIComponent makes', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      return decodeExtended('X-Note-Title*', `UTF-8''${encodeURIComponent(text)}`) === text;
    }),
  );
});

const words: [text: string, decoded: string][] = [
  ['', ''],
  ['plain Größe', 'plain Größe'],
  ['=?UTF-8?B?Y2Fmw6k=?=', 'café'],
  ['=?utf-8?b?Y2Fmw6k=?=', 'café'],
  ['=?UTF-8?Q?caf=C3=a9_au_lait?=', 'café au lait'],
  ['=?UTF-8*fr?Q?caf=C3=A9?=', 'café'],
  ['=?ISO-8859-1?Q?caf=E9?=', 'café'],
  ['=?iso-8859-1?B?Y2Fm6Q==?=', 'café'],
  ['=?ISO-8859-1?Q?=85?=', '\x85'],
  ['=?US-ASCII?Q?tea=3F?=', 'tea?'],
  ['=?UTF-8?Q?a?= =?UTF-8?B?Yg==?=', 'ab'],
  ['=?UTF-8?Q?a?= \t =?UTF-8?Q?b?=  =?UTF-8?Q?c?=', 'abc'],
  ['x  =?UTF-8?Q?a?=  y =?UTF-8?Q?b?= ', 'x  a  y b '],
  ['=?UTF-8?Q??=', ''],
  ['=?UTF-8?B??=', ''],
  ['=?UTF-8?Q?=EF=BB=BFa?=', '\ufeffa'],
  ['what=? is =?= or =??= here', 'what=? is =?= or =??= here'],
  ['2=?UTF-8?Q?a?=', '2=?UTF-8?Q?a?='],
];
for (const [text, decoded] of words) {
  t.test(`words: "${text}"`, async (t) => t.equal(decodeWords('X-Note-Title', text), decoded));
}
const wrongWords = [
  '=?UTF-8?Q?a',
  '=?UTF-8?Q?a=?=',
  '=?UTF-8?Q?=C3?=',
  '=?UTF-8?Q?=zz?=',
  '=?UTF-8?Q?é?=',
  '=?UTF-8?Q?a b?=',
  '=?UTF-8?Q?a?b?=',
  '=?UTF-8?Q?a?==?UTF-8?Q?b?=',
  '=?UTF-8?B?Y2Fmw6k?=',
  '=?UTF-8?B?Y2=Fm?=',
  '=?UTF-8?B?_-__?=',
  '=?UTF-8?X?a?=',
  '=?UTF-8??a?=',
  '=?US-ASCII?Q?=E9?=',
  '=?KOI8-R?Q?a?=',
  '=??Q?a?=',
  'fine =?UTF-8?B?!?= fine',
];
for (const text of wrongWords) {
  t.test(`words, refused: "${text}"`, async (t) =>
    t.throws(() => decodeWords('X-Note-Title', text), REFUSED),
  );
}
t.test('words: any text in base64, in several words', async () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1 }), { minLength: 1 }), (texts) => {
      const encoded = texts.map((text) => `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`);
      return decodeWords('X-Note-Title', encoded.join(' ')) === texts.join('');
    }),
  );
});

import fc from 'fast-check';
import t from 'tap';
import { parseParameters } from '../../src/requests/content-type.ts';

const read: [header: string, value: string, parameters: Record<string, string>][] = [
  ['', '', {}],
  ['Form-Data', 'form-data', {}],
  ['form-data; name="text"', 'form-data', { name: 'text' }],
  ['form-data;name=text;filename=a.png', 'form-data', { name: 'text', filename: 'a.png' }],
  [' form-data \t; NAME="Text" ; ', 'form-data', { name: 'Text' }],
  ['form-data; name="a;b=\'c\'"', 'form-data', { name: "a;b='c'" }],
  ['form-data; name="größe"', 'form-data', { name: 'größe' }],
  ['form-data; name=""', 'form-data', { name: '' }],
  ['form-data; name=', 'form-data', { name: '' }],
  ['form-data; name="a\\"b"', 'form-data', { name: 'a"b' }],
  ['form-data; name="a\\\\b"', 'form-data', { name: 'a\\b' }],
  ['form-data; name="C:\\pictures\\a.png"', 'form-data', { name: 'C:\\pictures\\a.png' }],
  ["form-data; filename*=UTF-8''a%20b", 'form-data', { 'filename*': "UTF-8''a%20b" }],
  ['multipart/form-data; boundary=----=_Part_1', 'multipart/form-data', { boundary: '----=_Part_1' }],
  ['multipart/form-data; boundary="a b"', 'multipart/form-data', { boundary: 'a b' }],
  ['a;;;b=c;', 'a', { b: 'c' }],
  ['a; __proto__=b', 'a', { ['__proto__']: 'b' }],
];
for (const [header, value, parameters] of read) {
  t.test(`read: ${header}`, async (t) => {
    const found = parseParameters(header);
    t.equal(found?.value, value);
    t.same([...(found?.parameters ?? [])], Object.entries(parameters));
  });
}

const malformed = [
  'form-data; name',
  'form-data; name text',
  'form-data; ="a"',
  'form-data; name="a',
  'form-data; name="a\\"',
  'form-data; name="a"b',
  'form-data; name="a" b="c"',
  'form-data; name=a b',
  'form-data; name = a',
  'form-data; name=a"b"',
  'form-data; name=a; name=b',
  'form-data; name=a; NAME="a"',
  'form-data; nä=a',
];
for (const header of malformed) {
  t.test(`malformed: ${header}`, async (t) => t.equal(parseParameters(header), undefined));
}

t.test('any quoted value is read as it was', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const quoted = text.replace(/["\\]/g, '\\$&');
      return parseParameters(`a; b="${quoted}"`)?.parameters.get('b') === text;
    }),
  );
});

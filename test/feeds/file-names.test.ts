import fc from 'fast-check';
import t from 'tap';
import { decodeFormName, fileNameFault, shownFileName } from '../../src/feeds/file-names.ts';

const taken = [
  'a',
  'a.png',
  '.a',
  'a.',
  'a..b',
  '...a',
  'größe 2.png',
  'a"b.png',
  'a%20b.png',
  "it's, 100% (new) [1] <2> {3} #4 ?5 *6 |7 :8.png",
  '写真.jpg',
  '\u{1f600}.gif',
  'a'.repeat(200),
  '\u{1f600}'.repeat(100),
  '\u200b',
  '\u200e',
];
for (const name of taken) {
  t.test(`taken: ${encodeURI(name).slice(0, 60)}`, async (t) => t.equal(fileNameFault(name), undefined));
}

const refused: [name: string, fault: RegExp, shown?: string][] = [
  ['', /must have a name/],
  ['a'.repeat(201), /at most 200 UTF-16 units/],
  [`${'\u{1f600}'.repeat(100)}a`, /at most 200 UTF-16 units/],
  ['a/b', /one line without/, 'a\ufffdb'],
  ['/etc/passwd', /one line without/, '\ufffdetc\ufffdpasswd'],
  ['a\\b', /one line without/, 'a\ufffdb'],
  ['../a', /one line without/, '..\ufffda'],
  ['a\nb', /one line without/, 'a\ufffdb'],
  ['a\r\nb', /one line without/, 'a\ufffd\ufffdb'],
  ['a\0', /one line without/, 'a\ufffd'],
  ['\ta', /one line without/, '\ufffda'],
  ['a\x7f', /one line without/, 'a\ufffd'],
  ['a\x80', /one line without/, 'a\ufffd'],
  ['a\x9f', /one line without/, 'a\ufffd'],
  ['a\u2028b', /one line without/, 'a\ufffdb'],
  ['a\u2029b', /one line without/, 'a\ufffdb'],
  ['a\u202ab', /one line without/, 'a\ufffdb'],
  ['a\u202egnp.exe', /one line without/, 'a\ufffdgnp.exe'],
  ['a\u2066b', /one line without/, 'a\ufffdb'],
  ['a\u2069b', /one line without/, 'a\ufffdb'],
  [' a', /begin or end with a space/],
  ['a ', /begin or end with a space/],
  ['\u00a0a', /begin or end with a space/],
  [' ', /begin or end with a space/],
  ['.', /only dots/],
  ['..', /only dots/],
  ['....', /only dots/],
];
for (const [name, fault, shown = name] of refused) {
  t.test(`refused: ${encodeURI(name).slice(0, 60)}`, async (t) => {
    t.match(fileNameFault(name), fault);
    t.equal(shownFileName(name), shown);
  });
}

t.test('every forbidden character is refused anywhere in a name, and shown as a replacement', async () => {
  const points = [
    [0, 0x1f],
    [0x7f, 0x9f],
    [0x2028, 0x202e],
    [0x2066, 0x2069],
    [0x2f, 0x2f],
    [0x5c, 0x5c],
  ];
  const forbidden = fc
    .oneof(...points.map(([min, max]) => fc.integer({ min: min!, max: max! })))
    .map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.string({ maxLength: 90 }), forbidden, fc.string({ maxLength: 90 }), (a, bad, b) => {
      const shown = shownFileName(a + bad + b);
      return fileNameFault(a + bad + b) !== undefined && shown[a.length] === '\ufffd' && !shown.includes(bad);
    }),
  );
});

t.test('a name that is shown again has nothing left to replace', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      const shown = shownFileName(name);
      return shown.length === name.length && shownFileName(shown) === shown;
    }),
  );
});

const sent: [sent: string, name: string][] = [
  ['a.png', 'a.png'],
  ['a%22b.png', 'a"b.png'],
  ['%22%22', '""'],
  ['a%0Ab', 'a\nb'],
  ['a%0D%0Ab', 'a\r\nb'],
  ['a%20b%2Fc%25', 'a%20b%2Fc%25'],
  ['a%0ab%0d', 'a%0ab%0d'],
  ['a%2522', 'a%2522'],
  ['%', '%'],
  ['%2', '%2'],
];
for (const [from, to] of sent) {
  t.test(`sent as ${from}`, async (t) => t.equal(decodeFormName(from), to));
}

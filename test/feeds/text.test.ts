import fc from 'fast-check';
import t from 'tap';
import { oneLine, pictureName, shownOneLine } from '../../src/feeds/text.ts';

const FORBIDDEN = [
  '\0',
  '\t',
  '\n',
  '\r',
  '\x1f',
  '\x7f',
  '\x80',
  '\x85',
  '\x9f',
  '\u2028',
  '\u2029',
  '\u202a',
  '\u202e',
  '\u2066',
  '\u2069',
];
const ALLOWED = [' ', '~', '\xa0', '\u2027', '\u202f', '\u2065', '\u206a', '\u200f', 'é', '\u{1f600}'];
const name = (char: string) => `U+${char.codePointAt(0)?.toString(16).padStart(4, '0')}`;

for (const char of FORBIDDEN) {
  t.test(`${name(char)} is refused, and shown as a space`, async (t) => {
    for (const text of [`a${char}b`, `${char}ab`, `ab${char}`]) {
      t.throws(() => oneLine('title', text, 100), {
        name: 'Refusal',
        code: 'invalid_request',
        message: /^title must be one line/,
      });
      t.equal(pictureName(text), 'ab');
    }
    t.equal(shownOneLine(`a${char}${char}b`), 'a  b');
  });
}
for (const char of ALLOWED) {
  t.test(`${name(char)} is taken and shown`, async (t) => {
    t.equal(oneLine('title', `a${char}b`, 100), `a${char}b`);
    t.equal(shownOneLine(`a${char}b`), `a${char}b`);
  });
}

t.test('surrounding spaces are no part of the text and of its length', async (t) => {
  t.equal(oneLine('title', ' \u3000ab  ', 2), 'ab');
  t.equal(oneLine('title', '   ', 2), '');
});

t.test('the length is counted in code points', async (t) => {
  for (const char of ['a', 'é', '\u{1f600}']) {
    t.equal(oneLine('title', char.repeat(100), 100), char.repeat(100));
    t.throws(() => oneLine('title', char.repeat(101), 100), {
      message: 'title must be at most 100 characters long.',
    });
  }
  t.throws(() => oneLine('title', 'a'.repeat(201), 100), { code: 'invalid_request' });
});

t.test('a lone surrogate becomes what its UTF-8 form would say', async (t) => {
  t.equal(oneLine('title', 'a\ud800b', 100), 'a\ufffdb');
  t.equal(shownOneLine('a\ud800b'), 'a\ud800b');
});

t.test('what is shown may be set again', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const shown = shownOneLine(text);
      return shown.length === text.length && oneLine('title', shown, 1000) === shown.trim();
    }),
  );
});

const PICTURE_NAMES: [text: string, name: string][] = [
  [' Über uns?.png ', 'Über uns?.png'],
  ['日本語 🎉.png', '日本語 🎉.png'],
  ['../a/b\\c.png', '..abc.png'],
  ['a/ ', 'a'],
  ['/ a', 'a'],
  ['\t\u2028a\u202e\x00b\x9f', 'ab'],
  ['', ''],
  [' /\\\u2066 ', ''],
  ['a'.repeat(200), 'a'.repeat(200)],
  ['a'.repeat(201), 'a'.repeat(200)],
  ['\u{1f600}'.repeat(201), '\u{1f600}'.repeat(200)],
  [`/${'a'.repeat(200)}/`, 'a'.repeat(200)],
  [`${'a'.repeat(199)} b`, 'a'.repeat(199)],
  [`${'a'.repeat(199)}e\u0301`, 'a'.repeat(199)],
];
for (const [text, name] of PICTURE_NAMES)
  t.test(`the name of a picture: ${encodeURIComponent(text.slice(0, 30))}`, async (t) => {
    t.equal(pictureName(text), name);
  });

t.test('whatever a picture is called, its name can be kept as one line and is its own name', async () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom(' ', '/', '\\', ...FORBIDDEN),
      fc.string({ unit: 'binary', maxLength: 1 }),
    ),
    maxLength: 500,
    size: 'max',
  });
  fc.assert(
    fc.property(text, (text) => {
      const name = pictureName(text);
      return oneLine('X-Note-Name', name, 200) === name && !/[/\\]/.test(name) && pictureName(name) === name;
    }),
  );
});

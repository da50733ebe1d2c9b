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
      t.throws(() => pictureName('X-Note-Name', text), { code: 'invalid_request' });
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

t.test('the name of a picture', async (t) => {
  t.equal(pictureName('X-Note-Name', ' Über uns?.png '), 'Über uns?.png');
  t.equal(pictureName('X-Note-Name', 'a'.repeat(200)), 'a'.repeat(200));
  for (const text of ['a/b.png', 'a\\b.png', '/', 'a'.repeat(201)]) {
    t.throws(() => pictureName('X-Note-Name', text), { code: 'invalid_request', message: /^X-Note-Name / });
  }
});

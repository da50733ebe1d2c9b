import fc from 'fast-check';
import t from 'tap';
import {
  element,
  emptyElement,
  escapeAttribute,
  escapeText,
  group,
  withoutForbidden,
} from '../../src/read/markup.ts';
import { hostileText } from '../support/hostile-notes.ts';

t.test('characters that XML forbids are removed, all others stay', async (t) => {
  t.equal(withoutForbidden('a\0\x08\x0b\x0c\x0e\x1f\ufffe\uffffb'), 'ab');
  t.equal(
    withoutForbidden('\t\n\r \x7f\x85\ufeff\ufffd😀\u{1ffff}'),
    '\t\n\r \x7f\x85\ufeff\ufffd😀\u{1ffff}',
  );
  t.equal(withoutForbidden('\ud83da\ude00b\ude00\ud83d'), 'ab');
  t.equal(withoutForbidden('\ud83d\ude00\ud83d'), '😀');
});

t.test('removing a character cannot make another forbidden one', async (t) => {
  // Two lone halves with something forbidden between them would meet and become a pair, which is allowed.
  t.equal(withoutForbidden('\ud83d\0\ude00'), '');
});

t.test('markup is escaped', async (t) => {
  t.equal(escapeText('a ]]> <b> & "c"\r\n'), 'a ]]&gt; &lt;b&gt; &amp; "c"&#13;\n');
  t.equal(escapeAttribute('<a> & "b"\t\n\r'), '&lt;a&gt; &amp; &quot;b&quot;&#9;&#10;&#13;');
});

t.test('elements', async (t) => {
  t.equal(element('a', 'x<', { b: '"' }), '<a b="&quot;">x&lt;</a>');
  t.equal(emptyElement('a', { b: '1', c: '2' }), '<a b="1" c="2"/>');
  t.equal(group('a', [element('b', ''), undefined, element('c', '1')]), '<a>\n<b></b>\n<c>1</c>\n</a>');
});

t.test('every text comes back as it was, but for forbidden characters', async () => {
  const read = (text: string) =>
    text
      .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
      .replace(/&lt;/g, '<')
      .replace(/&gt;/g, '>')
      .replace(/&quot;/g, '"')
      .replace(/&amp;/g, '&');
  fc.assert(
    fc.property(hostileText(), (text) => {
      const allowed = withoutForbidden(text);
      const content = escapeText(text);
      const value = escapeAttribute(text);
      return (
        read(content) === allowed &&
        read(value) === allowed &&
        !/[<>\r]/.test(content) &&
        !/[<>"\t\n\r]/.test(value) &&
        allowed.isWellFormed()
      );
    }),
    { numRuns: 2000 },
  );
});

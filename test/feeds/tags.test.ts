import fc from 'fast-check';
import t from 'tap';
import { parseTags, tagStart, validTag, validTags } from '../../src/feeds/tags.ts';

const taken: [header: string, tags: string[]][] = [
  ['', []],
  ['  ', []],
  [' ,, ,', []],
  ['a', ['a']],
  ['a,,b,', ['a', 'b']],
  [', 1,2,3,4,5,6,7,8,9,10,,', ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10']],
  [' b , a ', ['b', 'a']],
  ['News,NEWS,news', ['news']],
  ['a-z_0.9:x', ['a-z_0.9:x']],
  ['a'.repeat(32), ['a'.repeat(32)]],
  ['1,2,3,4,5,6,7,8,9,10,1', ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10']],
  ['Größe,GRÖSSE', ['größe', 'grösse']],
  [
    '日本語, Русский, العربية, हिन्दी, ภาษาไทย, ١٢',
    ['日本語', 'русский', 'العربية', 'हिन्दी', 'ภาษาไทย', '١٢'],
  ],
  // In NFD, as macOS writes names; the Kelvin and the Ångström sign are letters.
  ['A\u0308, \u00e4, \u212a, \u212b', ['\u00e4', 'k', '\u00e5']],
  // A capital that becomes a letter and a mark, and two that depend on their place.
  ['\u0130, ΟΔΟΣ', ['i\u0307', 'οδος']],
  ['\u{10400}'.repeat(32), ['\u{10428}'.repeat(32)]],
  ['a\u0308'.repeat(32), ['\u00e4'.repeat(32)]],
];
for (const [header, tags] of taken) {
  t.test(`taken: "${header}"`, async (t) => t.same(parseTags(header), tags));
}

const ONLY = 'Tags are made of letters, digits, "-", "_", "." and ":" only.';
const refused: [header: string, message: string][] = [
  [',, b d', `The tag "b d" has a space in it. ${ONLY}`],
  ['good,b d', `The tag "b d" has a space in it. ${ONLY}`],
  ['a\u3000b', `The tag "a\u3000b" has a space in it. ${ONLY}`],
  ['a/b', `The tag "a/b" has "/" in it. ${ONLY}`],
  ['سلام،دنیا', `The tag "سلام،دنیا" has "،" in it. ${ONLY}`],
  ['½', `The tag "½" has "½" in it. ${ONLY}`],
  ['a🎉', `The tag "a🎉" has "🎉" in it. ${ONLY}`],
  ['a\x01b', `The tag "a b" has the invisible character U+0001 in it. ${ONLY}`],
  // A joiner would make two tags that look the same.
  ['می\u200cخواهم', `The tag "می\u200cخواهم" has the invisible character U+200C in it. ${ONLY}`],
  ['a\u202e', `The tag "a " has the invisible character U+202E in it. ${ONLY}`],
  ['a\ud800', `The tag "a\ufffd" has the invisible character U+D800 in it. ${ONLY}`],
  ['a'.repeat(33), `The tag "${'a'.repeat(33)}" is longer than 32 characters.`],
  ['\u0130'.repeat(17), `The tag "${'\u0130'.repeat(17)}" is longer than 32 characters.`],
  ['a'.repeat(1000), `The tag "${'a'.repeat(40)}" is longer than 32 characters.`],
  ['1,2,3,4,5,6,7,8,9,10,11', 'A note has at most 10 tags.'],
];
for (const [header, message] of refused) {
  t.test(`refused: "${header.slice(0, 50)}"`, async (t) => {
    t.throws(() => parseTags(header), { name: 'Refusal', code: 'invalid_request', message });
  });
}

t.test('a list has the same rules, but for commas', async (t) => {
  t.same(validTags([' News', 'news', '', ' ', 'b:1']), ['news', 'b:1']);
  t.same(validTags([]), []);
  const eleven = Array.from({ length: 11 }, (_, i) => `t${i}`);
  t.same(validTags([...eleven.slice(1), 'T1', '']), eleven.slice(1));
  t.throws(() => validTags(['good', 'a,b']), { code: 'invalid_request', message: /"a,b" has "," in it/ });
  t.throws(() => validTags(eleven), { code: 'invalid_request' });
});

t.test('a tag of very many marks is too long without being folded, which would take minutes', async (t) => {
  const marks = '\u0301\u0316'.repeat(300_000);
  t.throws(() => validTag(marks), { code: 'invalid_request', message: /longer than 32/ });
  t.equal(tagStart(marks), undefined);
  const decomposed = 'ΐ'.normalize('NFD').repeat(32);
  t.equal(validTag(decomposed), 'ΐ'.repeat(32));
});

t.test('what tags begin with has the form of tags', async (t) => {
  for (const tag of ['ärger', 'b:1', '日本語'])
    for (let end = 0; end <= tag.length; end += 1)
      for (const form of ['NFC', 'NFD'] as const)
        t.equal(tagStart(tag.slice(0, end).normalize(form).toUpperCase()), tag.slice(0, end));
  for (const none of ['a b', 'a,', '%', 'a'.repeat(33)]) t.equal(tagStart(none), undefined, none);
});

t.test('a tag is found again by what was taken, in whichever form it is written', async () => {
  const letter = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 4 })
    .filter((text) => /^[\p{L}\p{M}\p{Nd}]+$/u.test(text));
  const ascii = fc.stringMatching(/^[A-Za-z0-9\-_.:]{1,10}$/);
  fc.assert(
    fc.property(fc.array(fc.oneof(letter, ascii), { minLength: 1, maxLength: 3 }), (parts) => {
      const text = parts.join('');
      const tag = validTag(text);
      return [tag, text.normalize('NFC'), text.normalize('NFD'), tag.normalize('NFD')].every(
        (form) => validTag(form) === tag,
      );
    }),
    { numRuns: 2_000 },
  );
});

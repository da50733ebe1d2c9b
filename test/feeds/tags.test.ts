import fc from 'fast-check';
import t from 'tap';
import { parseTags, tagsOf } from '../../src/feeds/tags.ts';

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
];
for (const [header, tags] of taken) {
  t.test(`taken: "${header}"`, async (t) => t.same(parseTags(header), tags));
}

const refused: [header: string, message: RegExp][] = [
  [',, b d', /^X-Note-Tags: the tag "b d"/],
  ['good,b d', /the tag "b d"/],
  ['a/b', /the tag "a\/b"/],
  ['ä', /the tag "ä"/],
  ['\u212a', /the tag "\u212a"/],
  ['a\x01b', /the tag "a b"/],
  ['a'.repeat(33), /the tag "a{33}"/],
  ['a'.repeat(1000), /the tag "a{40}"/],
  ['1,2,3,4,5,6,7,8,9,10,11', /more than 10/],
];
for (const [header, message] of refused) {
  t.test(`refused: "${header.slice(0, 50)}"`, async (t) => {
    t.throws(() => parseTags(header), { name: 'Refusal', code: 'invalid_request', message });
  });
}

t.test('a list has the same rules, but for commas', async (t) => {
  t.same(tagsOf('tags', [' News', 'news', '', ' ', 'b:1']), ['news', 'b:1']);
  t.same(tagsOf('tags', []), []);
  const eleven = Array.from({ length: 11 }, (_, i) => `t${i}`);
  t.same(tagsOf('tags', [...eleven.slice(1), 'T1', '']), eleven.slice(1));
  for (const [list, message] of [
    [['a,b'], /^tags: the tag "a,b" must/],
    [['good', 'b d'], /^tags: the tag "b d" must/],
    [eleven, /^tags must not hold more than 10 tags/],
  ] as const)
    t.throws(() => tagsOf('tags', list), { name: 'Refusal', code: 'invalid_request', message });
});

t.test('tags that were taken are taken again as they are', async () => {
  const tag = fc.stringMatching(/^[A-Za-z0-9\-_.:]{1,32}$/);
  fc.assert(
    fc.property(fc.array(tag, { maxLength: 10 }), (tags) => {
      const once = parseTags(tags.join(','));
      return JSON.stringify(parseTags(once.join(', '))) === JSON.stringify(once);
    }),
  );
});

/** RFC 9110 §13.1 and §5.6.7. */
import fc from 'fast-check';
import t from 'tap';
import { httpDate, matchesETag, settledAt, unchangedSince } from '../../src/http/conditional.ts';

// A time zone far from UTC, so that a date read as local time is seen.
process.env.TZ = 'America/New_York';

const tags: [ifNoneMatch: string, matches: boolean][] = [
  ['"a"', true],
  ['W/"a"', true],
  ['*', true],
  [' * ', true],
  ['"b"', false],
  ['"b", "a"', true],
  ['"b","a"', true],
  ['W/"b",  W/"a" ', true],
  ['"b", W/"c"', false],
  [', "a",', true],
  ['""', false],
  ['', false],
  ['a', false],
  ['"A"', false],
  ['"aa"', false],
  ['"a', false],
  ['"b,a"', false],
  ['"*"', false],
  ['"b*", "c"', false],
];
for (const [header, matches] of tags) {
  t.test(`If-None-Match: ${header} ${matches ? 'names' : 'does not name'} "a"`, async (t) => {
    t.equal(matchesETag(header, '"a"'), matches);
  });
}

t.test('a tag may hold commas', async (t) => {
  t.ok(matchesETag('"x", "a,b"', '"a,b"'));
  t.notOk(matchesETag('"x", "a,b"', '"b"'));
});

t.test('a list names just the tags in it', async () => {
  const tag = fc.stringMatching(/^[!#-~]{0,6}$/);
  const listed = fc.array(fc.tuple(tag, fc.boolean()), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(listed, tag, (list, other) => {
      const header = list.map(([name, isWeak]) => `${isWeak ? 'W/' : ''}"${name}"`).join(', ');
      const isNamed = list.some(([name]) => name === other);
      return (
        list.every(([name]) => matchesETag(header, `"${name}"`)) &&
        matchesETag(header, `"${other}"`) === isNamed
      );
    }),
  );
});

const TIME = Date.UTC(1994, 10, 6, 8, 49, 37);
const dates: [ifModifiedSince: string, isUnchanged: boolean][] = [
  ['Sun, 06 Nov 1994 08:49:37 GMT', true],
  ['Sun, 06 Nov 1994 08:49:38 GMT', true],
  ['Sun, 06 Nov 1994 08:49:36 GMT', false],
  ['Sunday, 06-Nov-94 08:49:37 GMT', true],
  ['Sunday, 06-Nov-94 08:49:36 GMT', false],
  ['Sun Nov  6 08:49:37 1994', true],
  ['Sun Nov  6 08:49:36 1994', false],
  ['Sun Nov 13 08:49:36 1994', true],
  ['2030', false],
  ['2030-01-01', false],
  ['2030-01-01T00:00:00Z', false],
  ['foo 2030', false],
  ['Sun, 06 Nov 2030 08:49:37', false],
  ['Sun, 06 Nov 2030 08:49:37 +0000', false],
  ['Sun, 06 Foo 2030 08:49:37 GMT', false],
  ['Sun, 06 Nov 2030 25:49:37 GMT', false],
  ['', false],
];
for (const [header, isUnchanged] of dates) {
  t.test(`${isUnchanged ? 'unchanged' : 'changed'} since "${header}"`, async (t) => {
    t.equal(unchangedSince(header, TIME), isUnchanged);
  });
}

t.test('an HTTP date is in UTC and in whole seconds, rounded down', async (t) => {
  t.equal(httpDate(TIME), 'Sun, 06 Nov 1994 08:49:37 GMT');
  t.equal(httpDate(TIME + 999.9), 'Sun, 06 Nov 1994 08:49:37 GMT');
});

t.test('a date is settled when the second after its own is over, and is that time', async () => {
  fc.assert(
    fc.property(fc.nat(4e12), fc.nat(1e4), (time, later) => {
      const settled = settledAt(time);
      const second = Math.floor(time / 1000);
      return (
        settled === (second + 2) * 1000 &&
        unchangedSince(httpDate(settled), settled) &&
        // Whoever read before, with or without a change since, sends an earlier date.
        !unchangedSince(httpDate(Math.min(time + later, settled - 1)), settled)
      );
    }),
  );
});

import t from 'tap';
import { expiryOf, isNoteKey } from '../../src/feeds/keeping.ts';

const NOW = Date.parse('2030-01-31T12:00:00Z');
const MINUTE = 60_000;

const EXPIRIES: readonly [text: string, time: number | undefined][] = [
  ['30m', NOW + 30 * MINUTE],
  ['12h', NOW + 12 * 60 * MINUTE],
  ['7d', NOW + 7 * 24 * 60 * MINUTE],
  ['3653d', NOW + 3_653 * 24 * 60 * MINUTE],
  ['3654d', undefined],
  ['999999999d', undefined],
  ['0m', undefined],
  ['-1d', undefined],
  ['1.5h', undefined],
  ['7', undefined],
  ['7D', undefined],
  ['7 d', undefined],
  ['', undefined],
  ['tomorrow', undefined],
  ['2030-01-31T12:00:00Z', undefined],
  ['2030-01-31T12:00:01Z', NOW + 1_000],
  ['2030-01-31T13:00:00.5+01:00', NOW + 500],
  ['2030-01-31T12:01Z', NOW + MINUTE],
  ['2030-02-01', NOW + 12 * 60 * MINUTE],
  ['2030-02-01T12:00:00', undefined],
  ['2030-13-01', undefined],
  ['2030-02-30', undefined],
  ['2031', undefined],
  ['Fri, 01 Feb 2030 00:00:00 GMT', undefined],
];

t.test('when a note expires', async (t) => {
  for (const [text, time] of EXPIRIES)
    if (time !== undefined) t.equal(expiryOf(text, NOW), time, text);
    else t.throws(() => expiryOf(text, NOW), { code: 'invalid_request' }, text);
});

t.test('what may be a key', async (t) => {
  for (const text of ['a', 'build state', `!${'~'.repeat(199)}`]) t.ok(isNoteKey(text), text);
  for (const text of ['', ' a', 'a ', 'a\n', 'é', 'a'.repeat(201), 7, undefined])
    t.notOk(isNoteKey(text), String(text));
});

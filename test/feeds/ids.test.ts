import fc from 'fast-check';
import t from 'tap';
import { dateOfId, datePrefixOfId, isServiceId, NoteIds, uuidOfId } from '../../src/feeds/ids.ts';

const V7_AT = (time: number) => {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000001`;
};
const NOON = Date.UTC(2026, 1, 28, 12, 0, 5, 678);

t.test('an id holds the time twice, in its prefix and in its UUID', async (t) => {
  const id = new NoteIds(() => NOON).next();
  t.match(id, /^20260228T120005Z-[0-9a-f]{8}-[0-9a-f]{4}-7000-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.equal(dateOfId(id), NOON);
  t.ok(isServiceId(id));
});

t.test('the clock is the real one unless another is given', async (t) => {
  const before = Date.now();
  const date = dateOfId(new NoteIds().next()) ?? 0;
  t.ok(date >= before && date <= Date.now());
});

t.test('more ids in one millisecond than the counter holds still sort in order', async (t) => {
  const ids = new NoteIds(() => NOON);
  const made = Array.from({ length: 10_000 }, () => ids.next());
  t.same(made, [...made].sort());
  t.equal(new Set(made).size, made.length);
  t.equal(dateOfId(made[4095] as string), NOON);
  t.equal(dateOfId(made[4096] as string), NOON + 1);
});

t.test('a full counter at the end of a second moves prefix and UUID together', async (t) => {
  const endOfSecond = NOON - 678 + 999;
  const ids = new NoteIds(() => endOfSecond);
  for (let i = 0; i < 4096; i += 1) ids.next();
  const id = ids.next();
  t.equal(dateOfId(id), endOfSecond + 1);
  t.ok(isServiceId(id));
});

t.test('whatever the clock does, ids sort in the order of posting and agree with themselves', async () => {
  const times = fc.array(fc.integer({ min: 0, max: 4e12 }), { minLength: 2, maxLength: 50 });
  fc.assert(
    fc.property(times, (clock) => {
      let step = 0;
      const ids = new NoteIds(() => clock[step++] as number);
      const made = clock.map(() => ids.next());
      return made.every((id, i) => isServiceId(id) && (i === 0 || (made[i - 1] as string) < id));
    }),
  );
});

t.test('the end of an id is random', async (t) => {
  const tails = new Set(Array.from({ length: 1000 }, () => new NoteIds(() => NOON).next().slice(-16)));
  t.equal(tails.size, 1000);
});

const PREFIX_TIME = NOON - 678;
const V4 = '6f1f7a2e-0a35-4a51-9d2c-7c3b5c8e6f42';
const dates: [what: string, id: string, date: number | undefined, service: boolean][] = [
  ['a v7 UUID that agrees', `20260228T120005Z-${V7_AT(NOON)}`, NOON, true],
  [
    'the last millisecond of the second',
    `20260228T120005Z-${V7_AT(PREFIX_TIME + 999)}`,
    PREFIX_TIME + 999,
    true,
  ],
  ['a v7 UUID of the next second', `20260228T120005Z-${V7_AT(PREFIX_TIME + 1000)}`, PREFIX_TIME, false],
  ['a v7 UUID of the second before', `20260228T120005Z-${V7_AT(PREFIX_TIME - 1)}`, PREFIX_TIME, false],
  ['a v4 UUID', `20260228T120005Z-${V4}`, PREFIX_TIME, false],
  ['a UUID in capitals', `20260228T120005Z-${V7_AT(NOON).toUpperCase()}`, NOON, false],
  [
    'a version 7 of another variant',
    `20260228T120005Z-${V7_AT(NOON).replace('-8000-', '-c000-')}`,
    PREFIX_TIME,
    false,
  ],
  ['a suffix that is no UUID', '20260228T120005Z-shopping', undefined, false],
  ['a UUID with more behind it', `20260228T120005Z-${V4}0`, undefined, false],
  ['no suffix', '20260228T120005Z', undefined, false],
  ['no prefix', V4, undefined, false],
  ['month 13', `20261328T120005Z-${V4}`, undefined, false],
  ['30 February', `20260230T120005Z-${V4}`, undefined, false],
  ['29 February of a leap year', `20240229T120005Z-${V4}`, Date.UTC(2024, 1, 29, 12, 0, 5), false],
  ['hour 24', `20260228T240000Z-${V4}`, undefined, false],
  ['second 60', `20260228T235960Z-${V4}`, undefined, false],
  ['the year 0', `00000101T000000Z-${V4}`, Date.parse('0000-01-01T00:00:00Z'), false],
  ['small letters in the prefix', `20260228t120005z-${V4}`, undefined, false],
  ['any name', 'notes of today', undefined, false],
  ['nothing', '', undefined, false],
];
for (const [what, id, date, service] of dates) {
  t.test(`the date of an id: ${what}`, async (t) => {
    t.equal(dateOfId(id), date);
    t.equal(isServiceId(id), service);
  });
}

t.test('the date that an id begins with counts whatever follows', async (t) => {
  for (const rest of [`-${V4}`, '-shopping', '', ' note'])
    t.equal(datePrefixOfId(`20260228T120005Z${rest}`), PREFIX_TIME, rest);
  for (const id of ['20260230T120005Z-shopping', ' 20260228T120005Z', 'notes of today'])
    t.equal(datePrefixOfId(id), undefined, id);
});

t.test('the date of an id is what its digits say, where there is such a date', async () => {
  const upTo = (max: number) => fc.integer({ min: 0, max });
  const numbers = fc.tuple(upTo(9999), upTo(14), upTo(33), upTo(25), upTo(61), upTo(61));
  fc.assert(
    fc.property(numbers, ([year, ...others]) => {
      const [month, day, hour, minute, second] = others.map((n) => String(n).padStart(2, '0'));
      const iso = `${String(year).padStart(4, '0')}-${month}-${day}T${hour}:${minute}:${second}`;
      const time = Date.parse(`${iso}Z`);
      const exists = !Number.isNaN(time) && new Date(time).toISOString().startsWith(iso);
      return dateOfId(`${iso.replace(/[-:]/g, '')}Z-${V4}`) === (exists ? time : undefined);
    }),
    { numRuns: 1000 },
  );
});

t.test('the UUID of an id', async (t) => {
  t.equal(uuidOfId(`20260228T120005Z-${V4.toUpperCase()}`), V4);
  t.equal(uuidOfId('notes of today'), undefined);
});

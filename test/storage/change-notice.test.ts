import t from 'tap';
import type { NoteId, ReadId } from '../../src/feeds/names.ts';
import { type ChangedFeed, decodeChanges, encodeChanges } from '../../src/storage/postgres/change-notice.ts';

const changed = (key: string, ...readIds: string[]): ChangedFeed => ({ key, readIds: readIds as ReadId[] });

const ids = (...all: string[]) => all as NoteId[];
const origin = 'A.1';

const cases: [name: string, changes: ChangedFeed[], payloads: string[]][] = [
  ['nothing', [], []],
  ['one feed', [changed('7', 'wKN1f03CDQ2BYmbTmKW4ww')], ['A.1 7:wKN1f03CDQ2BYmbTmKW4ww']],
  ['a new read id', [changed('7', 'new-id', 'old_ID')], ['A.1 7:new-id,old_ID']],
  [
    'several feeds',
    [changed('7', 'a-b'), changed('12', 'c', 'd'), changed('9', 'e')],
    ['A.1 7:a-b 12:c,d 9:e'],
  ],
  [
    'notes',
    [
      { ...changed('7', 'a'), edited: ids('one', 'ü :,$'), removed: ids('two') },
      { ...changed('8', 'b'), edited: ids('one') },
      { ...changed('9', 'c'), removed: ids('$') },
      { ...changed('10', 'd'), isUnnamed: true },
    ],
    ['A.1 7:a:one,%C3%BC%20%3A%2C%24:two 8:b:one: 9:c::%24 10:d:$'],
  ],
];

t.test('changes are told in few words, and understood', async (t) => {
  for (const [name, changes, payloads] of cases) {
    t.same(encodeChanges({ origin, changes }), payloads, name);
    t.same(
      payloads.map(decodeChanges),
      payloads.map(() => ({ origin, changes })),
      name,
    );
  }
});

t.test('of more notes than a payload holds none is named', async (t) => {
  const edited = ids(...Array.from({ length: 200 }, (_, n) => `${n}`.padStart(54, 'x')));
  const payloads = encodeChanges({ origin, changes: [{ ...changed('7', 'a'), edited }] });
  t.same(payloads, ['A.1 7:a:$']);
  t.match(decodeChanges(payloads[0]!), { changes: [{ key: '7', readIds: ['a'], isUnnamed: true }] });
});

t.test('many changes are told in several payloads, each of which PostgreSQL takes', async (t) => {
  const long = 'x'.repeat(64);
  const changes = Array.from({ length: 500 }, (_, i) => changed(String(2 ** 53 - i), long, long));
  const payloads = encodeChanges({ origin, changes });
  t.ok(payloads.every((payload) => payload.length <= 7_900));
  t.ok(payloads.length < 12, `${payloads.length} payloads`);
  const notices = payloads.map(decodeChanges);
  t.ok(notices.every((notice) => notice.origin === origin));
  t.same(
    notices.flatMap((notice) => notice.changes),
    changes,
  );
});

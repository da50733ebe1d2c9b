/** What others may do with an answer, by how soon a note in it expires. */
import t from 'tap';
import { ASK_EACH_TIME, FILE_TERMS, lifetimeOf, VIEW_TERMS } from '../../src/read/lifetime.ts';

const NOW = 1_800_000_000_000;
const STALE = 'public, max-age=60, stale-while-revalidate=30, stale-if-error=300';
const FRESH = 'public, max-age=60, must-revalidate';
const FILE = 'public, max-age=300, must-revalidate';

t.beforeEach((t) => t.intercept(Date, 'now', { value: () => NOW }));

for (const [name, terms, rows] of [
  [
    'a view',
    VIEW_TERMS,
    [
      [361, STALE, 1],
      [360, FRESH, 300],
      [61, FRESH, 1],
      [60, ASK_EACH_TIME, 60],
      [1, ASK_EACH_TIME, 1],
    ],
  ],
  [
    'a file',
    FILE_TERMS,
    [
      [301, FILE, 1],
      [300, ASK_EACH_TIME, 300],
    ],
  ],
] as const)
  t.test(`${name} is shown by nobody beyond its first expiry`, async (t) => {
    for (const [seconds, cacheControl, kept] of rows)
      t.strictSame(
        lifetimeOf([undefined, NOW + seconds * 1000, NOW + 1e9], terms),
        { until: NOW + kept * 1000, cacheControl },
        `${seconds} s before`,
      );
    t.strictSame(lifetimeOf([undefined], terms), { until: undefined, cacheControl: terms[0]?.cacheControl });
    for (const { cacheControl, seconds } of terms) {
      const said = /max-age=(\d+).*?(?:stale-if-error=(\d+))?$/.exec(cacheControl)!;
      const [fresh = 0, more = 0] = said.slice(1).map(Number);
      t.equal(fresh + (more || 0), seconds, 'the words say as much as the number');
    }
  });

t.test('what may soon show other notes is asked for each time', async (t) => {
  t.strictSame(lifetimeOf([NOW + 1e9], VIEW_TERMS, false), {
    until: NOW + 200,
    cacheControl: ASK_EACH_TIME,
  });
});

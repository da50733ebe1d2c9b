/** How many reports wait for the operator. */
import t from 'tap';
import { Reports } from '../../src/ingest/reports.ts';
import type { OperatorRecord, OperatorRecords } from '../../src/storage/operator-records.ts';

t.test('ten thousand reports may be open', async (t) => {
  let count = 9_999;
  const added: OperatorRecord[] = [];
  const records: Pick<OperatorRecords, 'add' | 'count'> = {
    add: async (record) => {
      count += 1;
      return added.push(record) > 0;
    },
    count: async () => count,
  };
  const reports = new Reports(records as OperatorRecords);
  const report = { target: '/r/some-feed', reason: 'x', contact: '' };
  await reports.add(report);
  await t.rejects(reports.add(report), { code: 'busy', retryAfter: 3600 });
  t.equal(added.length, 1);
});

t.test('the length of a reason is that of its characters', async (t) => {
  const reports = new Reports({} as OperatorRecords);
  const check = (count: number) =>
    reports.check({ target: '/r/some-feed', reason: '😀'.repeat(count), contact: '' });
  t.equal([...check(2_000).reason].length, 2_000);
  t.throws(() => check(2_001), { code: 'invalid_request', field: 'reason' });
});

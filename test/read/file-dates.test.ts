import t from 'tap';
import { FileDates } from '../../src/read/file-dates.ts';

const SECOND = 1_700_000_000_000;

t.test('a date is shared once another version has had its second or a later one', async (t) => {
  const dates = new FileDates();
  t.equal(dates.isShared('file', 'a', SECOND + 100), false, 'the first version');
  t.equal(dates.isShared('file', 'a', SECOND + 100), false, 'the same again');
  t.equal(dates.isShared('file', 'b', SECOND + 999), true, 'an edit within the second');
  t.equal(dates.isShared('file', 'b', SECOND + 999), true, 'and it stays so');
  t.equal(dates.isShared('file', 'c', SECOND + 1000), false, 'an edit in a later second');
  t.equal(dates.isShared('file', 'd', SECOND - 5000), true, 'a file with an older date');
  t.equal(dates.isShared('file', 'c', SECOND + 1000), true, 'put back, it is on the safe side');
  t.equal(dates.isShared('file', 'a', SECOND + 100), true);
  t.equal(dates.isShared('other', 'a', SECOND), false, 'another file');
});

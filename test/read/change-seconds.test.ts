import t from 'tap';
import type { ReadId } from '../../src/feeds/names.ts';
import { ChangeSeconds } from '../../src/read/change-seconds.ts';

const FEED = 'read-id' as ReadId;
const SECOND = 1_700_000_000_000;

t.test('a second is shared where two changes fell into it, or where that is not known', async (t) => {
  const changes = new ChangeSeconds();
  t.equal(changes.isShared(FEED, SECOND), true, 'nothing is known');
  changes.note(FEED, SECOND + 100);
  t.equal(changes.isShared(FEED, SECOND + 100), false, 'one change');
  changes.note(FEED, SECOND + 999);
  t.equal(changes.isShared(FEED, SECOND + 999), true, 'two in a second');
  changes.note(FEED, SECOND + 1000);
  t.equal(changes.isShared(FEED, SECOND + 1000), false, 'one in the next');
  t.equal(changes.isShared(FEED, SECOND + 5000), true, 'a date that is still to come');
});

t.test('where changes may have been missed, a second counts as shared', async (t) => {
  const changes = new ChangeSeconds();
  changes.note(FEED, SECOND);
  changes.forget(SECOND + 200);
  t.equal(changes.isShared(FEED, SECOND), true, 'nothing is known any more');
  changes.note(FEED, SECOND + 500);
  t.equal(changes.isShared(FEED, SECOND + 500), true, 'another one may have been missed');
  changes.note(FEED, SECOND + 1000);
  t.equal(changes.isShared(FEED, SECOND + 1000), false, 'one in the next');
});

t.test('a date that was still to come when it was shown is known when it has come', async (t) => {
  const changes = new ChangeSeconds();
  changes.note(FEED, SECOND - 5_000);
  changes.note(FEED, SECOND - 1);
  t.equal(changes.isShared(FEED, SECOND), true, 'shown with the date of the next second');
  changes.note(FEED, SECOND + 500);
  t.equal(changes.isShared(FEED, SECOND + 500), true, 'another version has that second');
  changes.note(FEED, SECOND + 1000);
  t.equal(changes.isShared(FEED, SECOND + 1000), false, 'one in the next');
});

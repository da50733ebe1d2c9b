import t from 'tap';
import type { FeedName } from '../../src/feeds/names.ts';
import { eventLog } from '../../src/telemetry/events.ts';
import { collectedLog } from '../support/collected-log.ts';

const FEED = 'secret-feed' as FeedName;
const REQUEST = { requestId: '0123456789abcdef' };

t.test(
  'an event is a line with the id of its request, its feed, and of a note its kind and size',
  async (t) => {
    const { lines, log } = collectedLog();
    log.hashFeedsWith(Buffer.alloc(32, 1));
    const record = eventLog(log);
    record({ name: 'feed created', feed: FEED }, REQUEST);
    record({ name: 'note posted', feed: FEED, kind: 'png', size: 12 }, REQUEST);
    record({ name: 'note deleted', feed: FEED, kind: 'md', size: 0 }, REQUEST);
    const common = { level: 'info', request: '0123456789abcdef', feed: '4adcb19fc476' };
    t.strictSame(lines, [
      { ...common, msg: 'feed created' },
      { ...common, msg: 'note posted', kind: 'png', size: 12 },
      { ...common, msg: 'note deleted', kind: 'md', size: 0 },
    ]);
  },
);

t.test('what else is known of the note or the request stays out of the line', async (t) => {
  const { lines, log } = collectedLog();
  const note = {
    feed: FEED,
    kind: 'md',
    size: 5,
    id: 'secret-id',
    title: 'secret title',
    file: 'secret.md',
  } as const;
  const exchange = { ...REQUEST, path: '/secret-feed', client: '192.0.2.1' };
  eventLog(log)({ ...note, name: 'note edited' }, exchange);
  t.strictSame(lines, [
    { level: 'info', msg: 'note edited', request: '0123456789abcdef', kind: 'md', size: 5 },
  ]);
});

/** When a feed is looked up for its listeners, and what they are told. */
import t, { type Test } from 'tap';
import type { Feed } from '../../src/feeds/feed.ts';
import type { FeedName, NoteId, ReadId } from '../../src/feeds/names.ts';
import type { LiveBody, LiveSource, LiveStream } from '../../src/http/answer.ts';
import { FeedEvents } from '../../src/live/feed-events.ts';
import type { Json } from '../../src/schemas.ts';
import type { Arrivals } from '../../src/storage/arrivals.ts';
import type { FeedChange, FreshnessListener } from '../../src/storage/storage.ts';
import { eventually } from '../support/eventually.ts';

const READ_ID = 'read-id' as ReadId;
const OTHER_READ_ID = 'other-read-id' as ReadId;
const NAME = 'key' as FeedName;

/** A long text, bytes. */
const LONG = 100_000;

/** A storage of one feed whose look-ups end when the test says so. */
class HeldStorage {
  version = 1;
  readId = READ_ID;
  showSender = true;
  isDeleted = false;
  arrived: Arrivals['notes'] = [];
  looked = 0;
  readonly waiting: ((error?: Error) => void)[] = [];
  #onChange: (change: FeedChange) => void = () => {};
  #onFreshness: FreshnessListener = () => {};

  get record(): Feed {
    const { readId, showSender } = this;
    return { version: `v${this.version}`, noteCount: 1, key: '1', name: NAME, readId, showSender } as Feed;
  }

  feedByReadId(): Promise<Feed | undefined> {
    return this.feed();
  }

  async arrivals(): Promise<Arrivals> {
    return { notes: this.arrived, isComplete: true };
  }

  /** What was stored when it is answered, not when it was asked. */
  feed(): Promise<Feed | undefined> {
    this.looked += 1;
    return new Promise((resolve, reject) => {
      this.waiting.push((error) =>
        error ? reject(error) : resolve(this.isDeleted ? undefined : this.record),
      );
    });
  }

  onChange(listener: (change: FeedChange) => void): void {
    this.#onChange = listener;
  }

  onFreshness(listener: FreshnessListener): void {
    this.#onFreshness = listener;
  }

  change(change: Partial<FeedChange> = {}): void {
    this.version += 1;
    this.#onChange({ readIds: [READ_ID], ...change });
  }

  isFresh(isFresh: boolean, heardUntil = 0): void {
    this.#onFreshness(isFresh, heardUntil);
  }

  /** Answers all look-ups that wait, and lets what follows happen. */
  async answer(error?: Error): Promise<void> {
    for (const settle of this.waiting.splice(0)) settle(error);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What a stream was sent, as the front end would see it. */
class Sent {
  text = '';
  isEnded = false;
  readonly isReady = true;
  readonly source: LiveSource;

  constructor(answer: { body?: unknown }) {
    this.source = (answer.body as LiveBody).open(this as unknown as LiveStream);
  }

  send(bytes: Uint8Array): void {
    this.text += Buffer.from(bytes).toString();
  }

  end(): void {
    this.isEnded = true;
    this.source?.closed();
  }

  get versions(): string[] {
    return [...this.text.matchAll(/^id: (.*)$/gm)].map(([, version]) => version!);
  }
}

let clients = 0;

const longNote = async (_feed: Feed) => ({ content: 'x'.repeat(LONG) }) as Json<'Note'>;

function setUp(eventNote = longNote) {
  const storage = new HeldStorage();
  const events = new FeedEvents(storage, { eventNote });
  const client = () => {
    clients += 1;
    return `client-${clients}`;
  };
  return {
    storage,
    events,
    open: async (since: string) => new Sent(await events.byReadId(READ_ID, client(), since)),
    named: (feed: Feed | undefined, since?: string) =>
      new Sent(events.byName(NAME, feed, { client: client(), session: undefined }, since)),
    notes: async () => {
      const asked = { format: 'lines', base: '', since: undefined } as const;
      const caller = { client: client(), session: undefined };
      return new Sent(await events.notesByName(NAME, storage.record, caller, asked));
    },
  };
}

t.test('of changes that come while a feed is looked up, one more look-up tells', async (t) => {
  const { storage, open } = setUp();
  const streams = [await open('v1'), await open('v1'), await open('v1')];
  await storage.answer();
  await storage.answer();
  const before = storage.looked;
  for (let i = 0; i < 5; i += 1) storage.change();
  t.equal(storage.looked, before + 1);
  for (let i = 0; i < 5; i += 1) storage.change();
  t.equal(storage.looked, before + 1);
  await storage.answer();
  t.equal(storage.looked, before + 2);
  await storage.answer();
  t.equal(storage.looked, before + 2);
  for (const { versions } of streams) t.same(versions, ['v11']);
});

t.test('who has the version of now costs no look-up once it is known', async (t) => {
  const { storage, open } = setUp();
  await open('v1');
  t.equal(storage.looked, 1);
  await storage.answer();
  const known = [await open('v1'), await open('v1')];
  t.equal(storage.looked, 1);
  storage.change();
  await storage.answer();
  for (const { versions } of known) t.same(versions, ['v2']);
});

t.test('who does not say what it has, has what there is when it is answered', async (t) => {
  const { storage, events } = setUp();
  const answer = events.byReadId(READ_ID, 'client', undefined);
  await storage.answer();
  storage.change();
  const stream = new Sent(await answer);
  await storage.answer();
  t.same(stream.versions, ['v2'], 'the change came before the stream was opened, and after the look-up');
});

t.test('when changes are heard of again, every feed is looked up', async (t) => {
  const { storage, open, named } = setUp();
  const streams = [await open('v1'), named(storage.record), await open('v1')];
  await storage.answer();
  await storage.answer();
  storage.isFresh(false);
  storage.version = 2;
  storage.isFresh(true);
  await storage.answer();
  for (const { versions } of streams) t.same(versions, ['v2']);
  storage.isFresh(false);
  storage.isFresh(true);
  await storage.answer();
  for (const { versions } of streams) t.same(versions, ['v2'], 'nothing has changed');
});

t.test('notes that change while changes are not heard of are told by a reset', async (t) => {
  const { storage, notes } = setUp();
  const resets = ({ text }: Sent) => text.match(/{"event":"reset"}/g)?.length ?? 0;
  const stream = await notes();
  await storage.answer();
  const blip = async () => {
    storage.isFresh(false, performance.now());
    storage.isFresh(true);
    await storage.answer();
  };
  await blip();
  t.equal(resets(stream), 0, 'nothing has changed');

  storage.isFresh(false, performance.now());
  storage.version += 1;
  // Another listener lets the feed be looked up, whose version then covers the change.
  const late = await notes();
  await storage.answer();
  storage.isFresh(true);
  await storage.answer();
  t.same([resets(stream), resets(late)], [1, 1]);
  await blip();
  t.equal(resets(stream), 1);

  const heardUntil = performance.now();
  storage.version += 1;
  await notes();
  await storage.answer();
  storage.isFresh(false, heardUntil);
  storage.isFresh(true);
  await storage.answer();
  t.equal(resets(stream), 2, 'it changed before anybody knew that changes are not heard of');

  storage.isFresh(false, performance.now());
  await notes();
  storage.isFresh(true);
  await storage.answer();
  await storage.answer();
  t.equal(resets(stream), 3, 'a look-up that had begun may have found the feed as it was before');
});

const ONE = 'one' as NoteId;
const GONE = '{"event":"gone","id":"one"}';
const RESET = '{"event":"reset"}';

t.test('who joins while a feed is looked up is told of its changes by a reset', async (t) => {
  const { storage, notes } = setUp();
  const first = await notes();
  await storage.answer();
  storage.change({ removed: [ONE] });
  const late = await notes();
  while (storage.waiting.length > 0) await storage.answer();
  t.same([first.text.trim(), late.text.trim()], [GONE, RESET]);
});

t.test('of more than a thousand changes a reset is told', async (t) => {
  for (const count of [1_000, 1_001]) {
    const { storage, notes } = setUp();
    const stream = await notes();
    await storage.answer();
    storage.change({ removed: Array.from({ length: count }, (_, n) => `${n}` as NoteId) });
    while (stream.text.trim() === '') await storage.answer();
    await storage.answer();
    t.equal(stream.text.includes(RESET), count > 1_000);
    t.equal(stream.text.match(/"gone"/g)?.length, count > 1_000 ? undefined : count);
  }
});

t.test('an edit that cannot be read is told by a reset', async (t) => {
  let isAway = true;
  const { storage, notes } = setUp((feed) => {
    return isAway ? Promise.reject(new Error('the storage is away')) : longNote(feed);
  });
  const stream = await notes();
  await storage.answer();
  storage.change({ edited: [ONE] });
  await storage.answer();
  isAway = false;
  t.ok(await eventually(() => storage.waiting.length > 0));
  await storage.answer();
  t.equal(stream.text.trim(), RESET);
  stream.source.closed();
});

t.test('a note that was read before its sender is hidden is read again', async (t) => {
  const reads: (() => void)[] = [];
  const { storage, notes } = setUp(({ showSender }) => {
    return new Promise((resolve) => reads.push(() => resolve({ content: `${showSender}` } as Json<'Note'>)));
  });
  const stream = await notes();
  await storage.answer();
  storage.arrived = [{ id: ONE, at: 1, date: 1 }];
  storage.change();
  await storage.answer();
  storage.showSender = false;
  storage.change();
  reads[0]!();
  const answered = (isDone: () => boolean) =>
    eventually(async () => {
      await storage.answer();
      return isDone();
    });
  t.ok(await answered(() => reads.length === 2));
  reads[1]!();
  t.ok(await answered(() => stream.text.trim() !== ''));
  t.equal(stream.text.trim(), '{"event":"note","id":"one","note":{"content":"false"}}');
});

t.test('a look-up that fails is made again', async (t) => {
  const { storage, open } = setUp();
  const stream = await open('v1');
  storage.change();
  await storage.answer(new Error('the storage is away'));
  t.same(stream.versions, []);
  t.ok(await eventually(() => storage.waiting.length > 0));
  await storage.answer();
  t.same(stream.versions, ['v2']);
  stream.source.closed();
});

t.test('who listens by the name has to look again after another read id', async (t) => {
  const { storage, events } = setUp();
  const asked = { format: 'lines', base: '', since: undefined } as const;
  const caller = { client: 'client', session: undefined };
  const stream = new Sent(await events.notesByName(NAME, storage.record, caller, asked));
  await storage.answer();
  t.equal(stream.text.trim(), '');
  storage.readId = OTHER_READ_ID;
  storage.change({ readIds: [READ_ID, OTHER_READ_ID] });
  // This change names read ids alone, so until the look-up ends nobody knows which feed it is of.
  storage.change({ readIds: [OTHER_READ_ID], removed: ['a-note' as NoteId] });
  await storage.answer();
  await storage.answer();
  t.equal(stream.text.trim(), '{"event":"reset"}');
  storage.change({ readIds: [OTHER_READ_ID], removed: ['another' as NoteId] });
  await storage.answer();
  t.match(stream.text, /{"event":"gone","id":"another"}\n$/);
});

t.test('a feed that is made anew between two look-ups ends the streams of the old one', async (t) => {
  const { storage, named } = setUp();
  const stream = named({ ...storage.record, key: '0' });
  await storage.answer();
  t.ok(stream.isEnded);
  t.same(stream.versions, ['0']);
});

t.test('a look-up that began before a stream was opened says nothing to it', async (t) => {
  const { storage, named } = setUp();
  named(storage.record);
  const looked = storage.waiting.length;
  // The running look-up may return an older password than the one that let this listener in.
  const stream = named({ ...storage.record, passwordHash: 'new' });
  t.equal(storage.waiting.length, looked);
  await storage.answer();
  t.notOk(stream.isEnded);
  await storage.answer();
  t.ok(stream.isEnded, 'the next one says that it has another password');
});

t.test('nothing is looked up for nobody', async (t) => {
  const { storage, open } = setUp();
  const stream = await open('v0');
  stream.source.closed();
  storage.change();
  await storage.answer();
  storage.change();
  t.equal(storage.looked, 1);
  t.same(stream.versions, []);
});

t.test('many listeners are not told in one turn of the event loop', async (t) => {
  const { storage, open } = setUp();
  const streams: Sent[] = [];
  for (let i = 0; i < 2_000; i += 1) streams.push(await open('v1'));
  storage.change();
  const told = () => streams.filter(({ versions }) => versions.length === 1).length;
  while (told() === 0) await storage.answer();
  t.ok(told() < 2_000);
  while (told() < 2_000) await storage.answer();
});

t.test('nor are many listeners told of notes, of what they missed, or of the end of the feed', async (t) => {
  const { storage, notes } = setUp();
  const streams: Sent[] = [];
  /** How many are told of it in the first turn in which any is. */
  const first = async (change: () => void, isTold: (stream: Sent) => boolean) => {
    const told = () => streams.filter(isTold).length;
    change();
    while (told() === 0) await storage.answer();
    const count = told();
    while (told() < streams.length) await storage.answer();
    for (const stream of streams) stream.text = '';
    return count;
  };
  for (let i = 0; i < 600; i += 1) streams.push(await notes());
  while (storage.waiting.length > 0) await storage.answer();
  const note = { id: 'a' as NoteId, at: 1 } as Arrivals['notes'][number];
  const arrives = () => {
    storage.arrived = [note];
    storage.change();
  };
  t.ok(
    (await first(arrives, ({ text }) => text.includes('"note"'))) < 60,
    'a long note is sent to few at once',
  );
  storage.arrived = [];
  const isReset = ({ text }: Sent) => text.includes('"reset"');
  t.ok((await first(() => storage.change({ isUnnamed: true }), isReset)) < 600);
  const isDeleted = () => {
    storage.isDeleted = true;
    storage.change();
  };
  t.ok((await first(isDeleted, ({ isEnded }) => isEnded)) < 600);
});

t.test('there is room for 20,000 streams, and a bound that holds', async (t: Test) => {
  const { events } = setUp();
  const answer = (client: string) => events.byReadId(READ_ID, client, 'v1');
  const streams: Sent[] = [];
  for (let n = 0; n < 19_999; n += 1) streams.push(new Sent(await answer(String(n))));
  const answers = [await answer('last'), await answer('late')];
  const [last, late] = answers.map((answer) => new Sent(answer)) as [Sent, Sent];
  t.notOk(last.isEnded);
  t.ok(late.isEnded, 'when it was answered there was room, when it was sent there was none');
  await t.rejects(async () => answer('another'), { code: 'busy', headers: { 'Retry-After': '15' } });
  streams[0]!.source.closed();
  await t.resolves(async () => answer('another'));
});

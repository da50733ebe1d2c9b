/** Whatever an instance holds, every backend gives it back. */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { dateOfId, NoteIds } from '../../../src/feeds/ids.ts';
import { type FeedName, type NoteId, noteFile, type ReadId } from '../../../src/feeds/names.ts';
import { NOTE_TYPES } from '../../../src/feeds/note-types.ts';
import { copy, summarize } from '../../../src/moving/copy.ts';
import { lockTarget, type Place } from '../../../src/moving/places.ts';
import type { Archive, ArchivedFeed, ArchivedNote } from '../../../src/storage/archive.ts';
import type { OperatorRecord } from '../../../src/storage/operator-records.ts';
import { line, tags } from '../../model/values.ts';
import { hostileText } from '../../support/hostile-notes.ts';
import { licenseFor } from '../../support/licenses.ts';
import { PostgresServer } from '../../support/postgres.ts';
import { tempDir } from '../../support/service.ts';

const RUNS = 12;

t.setTimeout(600_000);

/** What a test has in memory of an instance. */
interface Content {
  readonly feeds: readonly { readonly feed: ArchivedFeed; readonly notes: readonly ArchivedNote[] }[];
  readonly retired: readonly ReadId[];
  readonly records: readonly OperatorRecord[];
}

/** From 1966 to 2096. */
const date = fc.integer({ min: -1e11, max: 4e12 });
const serviceId = fc.integer({ min: 0, max: 2e12 }).map((now) => new NoteIds(() => now).next());
const handId = fc.string({
  unit: fc.constantFrom('a', 'B', ' ', '%', 'ü', '\n', '\u{1f600}', '\uff01', '"'),
  minLength: 1,
  maxLength: 4,
});
const note = fc
  .record({
    id: fc.oneof(serviceId, handId),
    type: fc.constantFrom(...NOTE_TYPES),
    date: fc.oneof(date, fc.constant(1_000)),
    modifiedAt: fc.oneof(date, fc.constant(1_000)),
    meta: fc.record({ title: line, alt: line, name: line, sender: line }),
    tags,
    bytes: fc.oneof(
      hostileText().map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 40 }),
    ),
  })
  .map(({ id, date, meta, tags, ...rest }): ArchivedNote => {
    const texts = Object.entries(meta).filter(([, text]) => text !== '');
    return {
      ...rest,
      id: id as NoteId,
      createdAt: dateOfId(id) ?? date,
      meta: { ...Object.fromEntries(texts), tags },
    };
  });
const readId = fc.stringMatching(/^[A-Za-z0-9_-]{3,64}$/);
const attached = { text: licenseFor({ id: 'known' }), id: 'known' };
const feed = fc
  .record({
    name: fc.stringMatching(/^[a-z0-9_-]{1,64}$/),
    readId,
    title: line,
    description: line,
    showSender: fc.boolean(),
    listed: fc.boolean(),
    keepDays: fc.option(fc.integer({ min: 1, max: 3_650 }), { nil: undefined }),
    keepNotes: fc.option(fc.integer({ min: 1, max: 1_000_000 }), { nil: undefined }),
    hasImage: fc.boolean(),
    passwordHash: fc.option(fc.constantFrom('$argon2id$x', '!'), { nil: undefined }),
    license: fc.option(fc.constantFrom({ text: 'nf1.x.y', id: undefined }, attached), { nil: undefined }),
    changedAt: fc.integer({ min: 0, max: 4e12 }),
    notes: fc.uniqueArray(note, { selector: ({ id, type }) => noteFile(id, type), maxLength: 8 }),
  })
  .map(({ name, readId, hasImage, notes, ...rest }) => {
    const pictures = notes.filter(({ type }) => type !== 'md');
    const [first] = pictures;
    const feed: ArchivedFeed = {
      ...rest,
      name: name as FeedName,
      readId: readId as ReadId,
      image: hasImage && first ? noteFile(first.id, first.type) : undefined,
      noteCount: notes.length,
      imageCount: pictures.length,
    };
    return { feed, notes };
  });
const record: fc.Arbitrary<OperatorRecord> = fc
  .record({
    named: fc.oneof(
      fc.tuple(fc.constant('name' as const), fc.constantFrom('a', 'closed')),
      fc.tuple(fc.constant('link' as const), readId),
      fc.tuple(
        fc.constant('picture' as const),
        fc
          .uint8Array({ minLength: 32, maxLength: 32 })
          .map((hash) => Buffer.from(hash).toString('base64url')),
      ),
      fc.tuple(fc.constant('report' as const), fc.stringMatching(/^[0-9a-z]{1,64}$/)),
    ),
    value: fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
    at: fc.integer({ min: 0, max: 4e12 }),
  })
  .map(({ named: [kind, key], ...rest }) => ({ kind, key, ...rest }));
const content: fc.Arbitrary<Content> = fc
  .record({
    feeds: fc.uniqueArray(feed, {
      comparator: (a, b) => a.feed.name === b.feed.name || a.feed.readId === b.feed.readId,
      maxLength: 5,
    }),
    retired: fc.uniqueArray(readId, { maxLength: 4 }),
    records: fc.uniqueArray(record, { selector: ({ kind, key }) => `${kind} ${key}`, maxLength: 8 }),
  })
  .map(({ feeds, retired, records }) => {
    const held = new Set<string>(feeds.map(({ feed }) => feed.readId));
    return { feeds, retired: retired.filter((one) => !held.has(one)) as ReadId[], records };
  });

/** Reads a content as an archive does. */
function archiveOf({ feeds, retired, records }: Content): Archive {
  const byText = (a: string, b: string) => (a < b ? -1 : 1);
  const place = ({ createdAt, id, type }: ArchivedNote) =>
    [createdAt + 1e12, id, NOTE_TYPES.indexOf(type)] as const;
  const byPlace = (a: ArchivedNote, b: ArchivedNote) => {
    const [[date, id, type], [date2, id2, type2]] = [place(a), place(b)];
    return date - date2 || Buffer.from(id).compare(Buffer.from(id2)) || type - type2;
  };
  const reads = {
    async *feeds() {
      yield* feeds.map(({ feed }) => feed).toSorted((a, b) => byText(a.name, b.name));
    },
    async *notes(name: FeedName) {
      yield* feeds.find(({ feed }) => feed.name === name)!.notes.toSorted(byPlace);
    },
    async *retiredReadIds() {
      yield* retired.toSorted(byText);
    },
    async *records() {
      yield* records.toSorted((a, b) => (a.kind === b.kind ? byText(a.key, b.key) : byText(a.kind, b.kind)));
    },
    async close() {},
  };
  return reads as Partial<Archive> as Archive;
}

t.test('what is copied from one to the next stays the same', async (t) => {
  const server = await PostgresServer.start(t);
  const root = await tempDir(t);
  const settings = { ownerIn: () => undefined, secret: undefined, log: console };
  const property = fc.asyncProperty(content, async (content) => {
    const dir = await mkdtemp(join(root, 'run-'));
    const places: Place[] = [
      { kind: 'sqlite', file: join(dir, 'notes.db') },
      { kind: 'postgres', url: await server.database() },
      { kind: 'fs', dir: join(dir, 'files') },
    ];
    let source = archiveOf(content);
    const expected = await summarize(source, () => {});
    for (const place of places) {
      const locked = await lockTarget(place, settings);
      const target = await locked.open();
      await copy(source, target, () => {});
      await target.close();
      await source.close();
      source = await locked.open();
      await locked.release();
      t.same(await summarize(source, () => {}), expected, place.kind);
    }
    await source.close();
  });
  await fc.assert(property, { numRuns: RUNS });
});

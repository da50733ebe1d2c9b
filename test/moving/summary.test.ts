/** A move that lost or changed anything must be noticed by its comparison. */
import t from 'tap';
import { summarize } from '../../src/moving/copy.ts';
import { areNested } from '../../src/moving/places.ts';
import type { Archive, ArchivedFeed } from '../../src/storage/archive.ts';
import { tempDir } from '../support/service.ts';

const FEED = { name: 'kiwi', readId: 'shown', title: '', noteCount: 1 } as ArchivedFeed;
const NOTE = {
  id: 'one',
  type: 'md',
  createdAt: 1,
  modifiedAt: 1,
  meta: { tags: [] },
  bytes: Buffer.from('x'),
};

async function* listed(values: readonly unknown[]) {
  yield* values;
}

interface Parts {
  readonly feed?: object;
  readonly note?: object;
  readonly retired?: readonly string[];
  readonly records?: readonly object[];
}

async function summaryOf({ feed, note, retired = [], records = [] }: Parts): Promise<string> {
  const archive = {
    feeds: () => listed([{ ...FEED, ...feed }]),
    notes: () => listed([{ ...NOTE, ...note }]),
    retiredReadIds: () => listed(retired),
    records: () => listed(records),
  };
  return (await summarize(archive as unknown as Archive, () => {})).sha256;
}

t.test('all that is kept of an instance is part of its summary', async (t) => {
  const changes: Parts[] = [
    {},
    ...[{ name: 'emu' }, { readId: 'x' }, { title: 'x' }, { description: 'x' }, { showSender: false }].map(
      (feed) => ({ feed }),
    ),
    ...[{ image: 'x.png' }, { passwordHash: 'x' }, { changedAt: 2 }, { noteCount: 2 }, { imageCount: 1 }].map(
      (feed) => ({ feed }),
    ),
    ...[{ license: { text: 'x' } }, { keepDays: 1 }, { keepNotes: 1 }, { listed: true }].map((feed) => ({
      feed,
    })),
    ...[{ id: 'two' }, { type: 'png' }, { createdAt: 2 }, { modifiedAt: 2 }, { bytes: Buffer.from('y') }].map(
      (note) => ({ note }),
    ),
    ...[{ meta: { tags: ['a'] } }, { others: { theirs: 1 } }].map((note) => ({ note })),
    { retired: ['gone'] },
    { records: [{ kind: 'name', key: 'kiwi', value: '', at: 1 }] },
  ];
  const summaries = await Promise.all(changes.map(summaryOf));
  t.equal(new Set(summaries).size, changes.length);
});

t.test('of two folders either may be in the other', async (t) => {
  const outer = { kind: 'fs', dir: await tempDir(t) } as const;
  const [inner, beside] = ['/feed', '-beside'].map((end) => ({ ...outer, dir: outer.dir + end })) as [
    typeof outer,
    typeof outer,
  ];
  t.ok(areNested(outer, inner));
  t.ok(areNested(inner, outer));
  t.notOk(areNested(outer, beside));
  t.notOk(areNested(beside, outer));
});

/** The notes that views show, over any pages of a storage. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import type { Feed } from '../../src/feeds/feed.ts';
import { type NoteId, noteFile, type ReadId } from '../../src/feeds/names.ts';
import type { Note } from '../../src/feeds/note.ts';
import { decodeCursor, type Position } from '../../src/feeds/order.ts';
import { Attachments } from '../../src/read/attachments.ts';
import { htmlOf, image } from '../../src/read/note-text.ts';
import type { Renderer } from '../../src/read/renderer.ts';
import { shownFrom, shownNeighbours } from '../../src/read/shown-pages.ts';
import { PAGE_TEXT_BYTES, type PageQuery, type Storage } from '../../src/storage/storage.ts';

const PLACE = { base: 'https://notes.example', readId: 'read' as ReadId };
const feed = { name: 'feed', key: '1', imageCount: 1 } as unknown as Feed;

const idOf = (n: number) => `note-${n}` as NoteId;
const pictureOf = (n: number) => noteFile(idOf(n), 'png');

interface Sample {
  /** The text that a picture came with. */
  readonly of?: number | undefined;
  /** The pictures that a text shows; undefined for a picture. */
  readonly shows?: readonly number[] | undefined;
  readonly isTagged?: boolean;
  /** Of a text. */
  readonly size?: number;
}

/** Notes, newest first: the first has the number 0. */
function notesOf(samples: readonly Sample[]): Note[] {
  return samples.map(({ of, shows, isTagged, size = 0 }, n) => {
    const type = shows === undefined ? 'png' : 'md';
    const text = shows?.map(pictureOf).join(' ').padEnd(size);
    const content = text === undefined ? undefined : Buffer.from(text);
    const meta = { tags: isTagged ? ['tag'] : [], attachedTo: of === undefined ? undefined : idOf(of) };
    const dates = { createdAt: 1000 - n, modifiedAt: 1 };
    return { id: idOf(n), type, size: content?.length ?? 1, ...dates, meta, content };
  });
}

/** A storage of these notes, and how often it was asked. */
function storageOf(all: readonly Note[]) {
  const calls = { page: 0, note: 0, neighbours: 0 };
  const isAfter = (one: Note, { createdAt }: Position) => one.createdAt < createdAt;
  const storage = {
    page: async (_, { limit, before, tag }: PageQuery) => {
      calls.page += 1;
      const from = all.filter(
        (one) => (!before || isAfter(one, before)) && (tag === undefined || one.meta.tags.includes(tag)),
      );
      const notes = from.slice(0, limit);
      const last = notes.at(-1);
      const isLast = notes.length === from.length;
      const next = isLast
        ? undefined
        : last && { createdAt: last.createdAt, file: noteFile(last.id, last.type) };
      return { notes, next };
    },
    note: async (_, id) => {
      calls.note += 1;
      return all.find((one) => one.id === id);
    },
    neighbours: async (_, { createdAt }) => {
      calls.neighbours += 1;
      return {
        older: all[1001 - createdAt]?.id,
        newer: all[999 - createdAt]?.id,
        expires: Number.POSITIVE_INFINITY,
      };
    },
  } as Pick<Storage, 'page' | 'note' | 'neighbours'>;
  return { storage, calls };
}

/** Shows all that a text names as pictures. */
const renderer: Pick<Renderer, 'texts'> = {
  texts: async (notes) => ({
    notes: notes.map((note) => {
      const pictures = `${Buffer.from(note.content!)}`.trim().split(' ');
      const html = htmlOf(pictures.map((picture) => image(picture, false)));
      return { ...note, rendered: { ...html, title: '', excerpt: '', pictures: [] } };
    }),
    isComplete: true,
  }),
};

/** All pages that follow each other. */
async function pagesOf(all: readonly Note[], limit: number, tag?: string) {
  const { storage, calls } = storageOf(all);
  const pages: NoteId[][] = [];
  const more: number[] = [];
  let before: Position | undefined;
  do {
    const { page: asked } = calls;
    const attachments = new Attachments({ storage, renderer }, PLACE);
    const page = { feed, ...(await storage.page(feed, { limit, before, tag })) };
    const notesOfTag = {
      page: (_: unknown, limit: number, before?: Position) => storage.page(feed, { limit, before, tag }),
      has: async ({ meta }: Note) => tag === undefined || meta.tags.includes(tag),
      isFirst: before === undefined,
      isOfAll: tag === undefined,
    };
    const { notes, next } = await shownFrom(notesOfTag, page, limit, attachments);
    pages.push(notes.map(({ id }) => id));
    more.push(calls.page - asked - 1);
    before = next === undefined ? undefined : decodeCursor(next);
  } while (before !== undefined);
  return { pages, more, calls };
}

/** Few, so that many pictures are shown in their texts. */
const count = fc.integer({ min: 0, max: 7 });
const sample: fc.Arbitrary<Sample> = fc.record({
  of: fc.option(count, { nil: undefined }),
  shows: fc.option(fc.array(count, { maxLength: 4 }), { nil: undefined }),
  isTagged: fc.boolean(),
});

t.test('pages show each note once, but for pictures that a text of theirs shows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(sample, { maxLength: 12 }),
      fc.integer({ min: 1, max: 6 }),
      fc.constantFrom(undefined, 'tag'),
      async (samples, limit, tag) => {
        const isIn = ({ isTagged }: Sample) => tag === undefined || isTagged === true;
        const isShownIn = (text: Sample | undefined, n: number) => text?.shows?.includes(n) && isIn(text);
        const expected = samples.flatMap((one, n) => {
          const isLeftOut = one.shows === undefined && one.of !== undefined && isShownIn(samples[one.of], n);
          return isIn(one) && !isLeftOut ? [idOf(n)] : [];
        });
        const { pages } = await pagesOf(notesOf(samples), limit, tag);
        assert.deepEqual(pages.flat(), expected);
        for (const page of pages.slice(0, -1)) assert.equal(page.length, limit);
      },
    ),
    { numRuns: 500 },
  );
});

t.test('a feed that leaves out nothing costs a page of the storage, and no more', async (t) => {
  const others = Array.from({ length: 120 }, (_, n) => ({ shows: n % 3 === 0 ? undefined : [n + 200] }));
  const { pages, more, calls } = await pagesOf(notesOf(others), 50);
  t.same(
    pages.map(({ length }) => length),
    [50, 50, 20],
  );
  t.same([more, calls.note], [[0, 0, 0], 0]);
});

t.test('a view ends where its texts, or those that its pictures came with, are too long', async (t) => {
  const size = PAGE_TEXT_BYTES / 2;
  const texts = Array.from({ length: 5 }, () => ({ shows: [], size }));
  t.same((await pagesOf(notesOf([...texts, { of: 0 }]), 50)).pages, [
    [idOf(0), idOf(1)],
    [idOf(2), idOf(3)],
    [idOf(4), idOf(5)],
  ]);
  const pictures = Array.from({ length: 5 }, (_, n) => ({ of: n + 10 }));
  const between = Array.from({ length: 5 }, () => ({ shows: [] }));
  const old = Array.from({ length: 5 }, () => ({ shows: [], size }));
  const [first, second] = (await pagesOf(notesOf([...pictures, ...between, ...old]), 5)).pages;
  t.same(
    [first, second?.slice(0, 2)],
    [
      [idOf(0), idOf(1)],
      [idOf(2), idOf(3)],
    ],
  );
});

t.test(
  'any number of pictures that are left out end a view with a note, and its cursor leads on',
  async (t) => {
    const many = Array.from({ length: 990 }, () => ({ of: 991 }));
    const all = [{ shows: [] }, ...many, { shows: many.map((_, n) => n + 1) }, { shows: [] }];
    const { pages, more } = await pagesOf(notesOf(all), 50);
    t.same(pages, [[idOf(0)], [idOf(991), idOf(992)]]);
    t.equal(more[0], 8);
  },
);

t.test('no number of pictures that are left out ends the first page of all without a note', async (t) => {
  const many = Array.from({ length: 990 }, () => ({ of: 990 }));
  const all = [...many, { shows: many.map((_, n) => n) }, { shows: [] }];
  const { pages, more } = await pagesOf(notesOf(all), 50);
  t.same([pages, more], [[[idOf(990), idOf(991)]], [10]]);
});

/** More pictures than a page of the storage has notes, each shown in a text of its own behind all of them. */
const PICTURES = 110;
const ofLongTexts = (size: number, isTagged = false): Sample[] => [
  ...Array.from({ length: PICTURES }, (_, n) => ({ of: PICTURES + n, isTagged })),
  ...Array.from({ length: PICTURES }, (_, n) => ({ shows: [n], size, isTagged })),
];

t.test(
  'the first page of all has the newest texts, although the pictures before them are of long texts',
  async (t) => {
    const { pages, more } = await pagesOf(notesOf(ofLongTexts(PAGE_TEXT_BYTES / 20)), 50);
    const newest = Array.from({ length: 20 }, (_, n) => idOf(PICTURES + n));
    t.same([pages[0], more[0]], [newest, 5]);
  },
);

t.test('where too many long texts would have to be read, a page shows the next picture', async (t) => {
  const samples = ofLongTexts(PAGE_TEXT_BYTES);
  const { pages, more } = await pagesOf(notesOf(samples), 50);
  t.same(pages[0], [idOf(8)], 'the first, behind those of eight texts');
  t.same(pages[1], [idOf(10)], 'another one, behind that of one text');
  t.ok(more.every((count) => count <= 8));
  for (const page of pages) t.equal(page.length, 1);
  const texts = samples.flatMap(({ shows }, n) => (shows === undefined ? [] : [idOf(n)]));
  t.ok(texts.every((id) => pages.some((page) => page.includes(id))));
  const tagged = await pagesOf(notesOf(ofLongTexts(PAGE_TEXT_BYTES, true)), 50, 'tag');
  t.same(tagged.pages[0], [idOf(1)], 'the first of a tag');
});

t.test('an unlisted picture is not shown in place of one that could not be looked at', async (t) => {
  const all = notesOf(ofLongTexts(PAGE_TEXT_BYTES));
  all[8] = { ...all[8]!, meta: { ...all[8]!.meta, unlisted: true } };
  t.same((await pagesOf(all, 50)).pages[0], [idOf(9)]);
});

t.test('a search that gives no more notes ends a view', async (t) => {
  const unlisted = notesOf([{}]).map((note) => ({
    ...note,
    meta: { ...note.meta, unlisted: true as const },
  }));
  const next = { createdAt: 1, file: pictureOf(0) };
  const found = {
    page: async () => ({ notes: [], next }),
    has: async () => true,
    isFirst: true,
    isOfAll: true,
  };
  const attachments = new Attachments({ ...storageOf([]), renderer }, PLACE);
  const page = await shownFrom(found, { feed, notes: unlisted, next }, 50, attachments);
  t.match(page, { notes: [], next: /./ });
});

t.test(
  'a neighbour is looked for among a hundred pictures, and the link leads on if there are more',
  async (t) => {
    const around = async (pictures: number, from = 1) => {
      const left = Array.from({ length: pictures }, () => ({ of: 1 }));
      const all = notesOf([{ shows: [] }, { shows: left.map((_, n) => n + 2) }, ...left, { shows: [] }]);
      const { storage, calls } = storageOf(all);
      const attachments = new Attachments({ storage, renderer }, PLACE);
      const found = await shownNeighbours(storage, feed, all[from]!, attachments);
      return { ...found, calls: calls.neighbours };
    };
    t.match(await around(0), { newer: idOf(0), older: idOf(2), calls: 1 });
    t.match(await around(100), { newer: idOf(0), older: idOf(102), calls: 101 });
    t.match(await around(150), { newer: idOf(0), older: idOf(102) });
    t.match(await around(150, 102), { newer: idOf(1), older: idOf(152) });
    const { storage, calls } = storageOf(notesOf([{ shows: [] }, { shows: [] }]));
    const attachments = new Attachments({ storage, renderer }, PLACE);
    const [newer, older] = notesOf([{ shows: [] }, { shows: [] }]);
    await shownNeighbours(storage, { ...feed, imageCount: 0 }, older!, attachments);
    t.ok(newer);
    t.same(calls, { page: 0, note: 0, neighbours: 1 }, 'none of a feed without pictures');
  },
);

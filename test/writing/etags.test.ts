/** Whoever edits under `If-Match` must be told of every change that the JSON shows. */
import t from 'tap';
import type { Feed } from '../../src/feeds/feed.ts';
import type { Note, NoteMeta } from '../../src/feeds/note.ts';
import { feedEtag, noteEtag } from '../../src/writing/etags.ts';

const FEED = { name: 'kiwi', readId: 'shown', title: '', noteCount: 1, showSender: true } as Feed;
const NOTE = { id: 'one', type: 'png', size: 1, createdAt: 1, modifiedAt: 1, meta: { tags: [] } } as unknown;

t.test('each member of a note has its part in the ETag', async (t) => {
  const note = NOTE as Note;
  const metas = [
    ...[{ title: 'x' }, { alt: 'x' }, { name: 'x' }, { sender: 'x' }, { tags: ['x'] }, { key: 'x' }],
    ...[{ expires: 1 }, { attachedTo: 'x' }, { unlisted: true }],
  ] as Partial<NoteMeta>[];
  const notes = [
    ...[note, { ...note, id: 'two' }, { ...note, type: 'gif' }, { ...note, size: 2 }],
    ...[
      { ...note, createdAt: 2 },
      { ...note, modifiedAt: 2 },
      { ...note, content: Buffer.from('x') },
    ],
    ...metas.map((meta) => ({ ...note, meta: { ...note.meta, ...meta } })),
  ] as Note[];
  const etags = new Set(notes.map((one) => noteEtag(one, FEED)));
  etags.add(noteEtag(note, { ...FEED, readId: 'other' as Feed['readId'] }));
  t.equal(etags.size, notes.length + 1);
});

t.test('each setting of a feed has its part in the ETag of its record', async (t) => {
  const changes = [
    ...[{}, { name: 'emu' }, { readId: 'other' }, { title: 'x' }, { description: 'x' }, { listed: true }],
    ...[{ showSender: false }, { image: 'x.png' }, { keepDays: 1 }, { keepNotes: 1 }, { noteCount: 0 }],
    ...[{ passwordHash: 'x' }, { license: { id: 'x', text: 'x' } }],
  ] as Partial<Feed>[];
  const etags = new Set(changes.map((change) => feedEtag({ ...FEED, ...change })));
  t.equal(etags.size, changes.length);
  t.equal(feedEtag({ ...FEED, noteCount: 2 }), feedEtag(FEED), 'a note more is no other record');
});

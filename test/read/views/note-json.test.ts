import t from 'tap';
import type { FeedName, NoteFile, NoteId } from '../../../src/feeds/names.ts';
import { UNKNOWN_FEED } from '../../../src/read/views/document.ts';
import {
  createdNote,
  namedNote,
  namedNoteList,
  publicNote,
  publicNoteList,
  readFeed,
} from '../../../src/read/views/note-json.ts';
import { HOSTILE_NOTES } from '../../support/hostile-notes.ts';
import {
  BASE,
  CREATED_AT,
  feedDocument,
  ID,
  markdownNote,
  pictureNote,
  READ_ID,
} from '../../support/view-notes.ts';

const named = { base: BASE, readId: READ_ID, name: 'secret-name' as FeedName };
const open = { base: BASE, readId: READ_ID, showSender: true };
const written = (value: unknown) => JSON.parse(JSON.stringify(value));

t.test('a markdown note by the name of its feed', async (t) => {
  const note = markdownNote('# Title\r\n\n*text*', { sender: 'Ada', tags: ['a'] });
  t.strictSame(written(namedNote(note, named)), {
    id: ID,
    type: 'text/markdown',
    file: `${ID}.md`,
    file_url: `${BASE}/r/${READ_ID}/${ID}.md`,
    size: 16,
    title: 'Title',
    content: '# Title\r\n\n*text*',
    created_at: new Date(CREATED_AT).toISOString(),
    url: `${BASE}/secret-name/${ID}`,
    sender: 'Ada',
    tags: ['a'],
  });
});

t.test('a picture note under the read id', async (t) => {
  const note = pictureNote({ alt: 'A cat', name: 'cat.png' });
  t.strictSame(written(publicNote(note, open)), {
    id: ID,
    type: 'image/png',
    file: `${ID}.png`,
    file_url: `${BASE}/r/${READ_ID}/${ID}.png`,
    size: 1234,
    title: 'A cat',
    alt: 'A cat',
    name: 'cat.png',
    created_at: '2026-01-02T03:04:05.678Z',
    url: `${BASE}/r/${READ_ID}/${ID}`,
    tags: [],
  });
});

t.test(
  'the sender is hidden from readers where the feed hides it, never from those who may post',
  async (t) => {
    const note = markdownNote('a', { sender: 'Ada' });
    t.equal(publicNote(note, open).sender, 'Ada');
    t.notOk('sender' in written(publicNote(note, { ...open, showSender: false })));
    t.equal(namedNote(note, named).sender, 'Ada');
  },
);

t.test('titles', async (t) => {
  const long = '👍🏽'.repeat(80);
  t.equal(publicNote(markdownNote('# Heading', { title: 'Set' }), open).title, 'Set');
  t.equal(publicNote(markdownNote('# Heading'), open).title, 'Heading');
  t.equal(publicNote(pictureNote({ title: 'Set', alt: 'Alt' }), open).title, 'Set');
  t.equal(publicNote(pictureNote({ alt: 'Alt', name: 'x.png' }), open).title, 'Alt');
  t.equal(publicNote(pictureNote({ alt: long }), open).title, `${'👍🏽'.repeat(49)}…`);
  t.equal(publicNote(pictureNote({ name: 'cat.png' }), open).title, 'cat.png');
  t.equal(publicNote(pictureNote({ alt: long }), open).alt, long);
  t.equal(publicNote(pictureNote(), open).title, '');
});

t.test('content is exactly what was posted', async (t) => {
  for (const [name, text] of Object.entries(HOSTILE_NOTES)) {
    const { content } = written(publicNote(markdownNote(text), open));
    t.ok(content === text.toWellFormed(), name);
  }
});

t.test('ids of hand-placed files are encoded in addresses only', async (t) => {
  const note = pictureNote({}, 'my photo 100%' as NoteId, 'jpg');
  const json = namedNote(note, named);
  t.equal(json.id, 'my photo 100%');
  t.equal(json.file, 'my photo 100%.jpg');
  t.equal(json.url, `${BASE}/secret-name/my%20photo%20100%25`);
  t.equal(json.file_url, `${BASE}/r/${READ_ID}/my%20photo%20100%25.jpg`);
});

t.test('lists', async (t) => {
  const notes = [markdownNote('a'), pictureNote()];
  t.same(namedNoteList({ ...named, notes, next: 'cursor' }), {
    notes: notes.map((note) => namedNote(note, named)),
    next: 'cursor',
  });
  t.same(publicNoteList({ ...open, notes, next: undefined }), {
    notes: notes.map((note) => publicNote(note, open)),
    next: null,
  });
});

t.test('nothing for readers holds the name of the feed', async (t) => {
  const document = { ...named, showSender: true, notes: [markdownNote('a'), pictureNote()], next: undefined };
  t.notMatch(JSON.stringify(publicNoteList(document)), 'secret-name');
});

t.test('the answer to a post', async (t) => {
  t.strictSame(createdNote({ id: ID, type: 'png' }, named), {
    id: ID,
    url: `${BASE}/secret-name/${ID}`,
    feed_url: `${BASE}/secret-name`,
    read_url: `${BASE}/r/${READ_ID}/feed.xml`,
    file: `${ID}.png`,
    file_url: `${BASE}/r/${READ_ID}/${ID}.png`,
  });
});

t.test('a feed for its readers', async (t) => {
  const { feed } = feedDocument([], { image: 'a b.png' as NoteFile });
  t.strictSame(readFeed(feed, open), {
    title: 'My feed',
    description: 'What I note',
    image_url: `${BASE}/r/${READ_ID}/a%20b.png`,
  });
  t.strictSame(readFeed(UNKNOWN_FEED, open), { title: '', description: '', image_url: null });
});

import t from 'tap';
import type { FeedName, NoteFile, NoteId, ReadId } from '../../src/feeds/names.ts';
import {
  feedUrl,
  filesUrl,
  fileUrl,
  jsonFeedUrl,
  noteUrl,
  noteUrlByName,
  readPageUrl,
  rssUrl,
} from '../../src/feeds/urls.ts';

const base = 'https://notes.example';
const name = 'my-feed' as FeedName;
const readId = 'abc' as ReadId;

t.test('addresses', async (t) => {
  const id = '20260102T030405Z-0' as NoteId;
  t.equal(feedUrl(base, name), 'https://notes.example/my-feed');
  t.equal(noteUrlByName(base, name, id), 'https://notes.example/my-feed/20260102T030405Z-0');
  t.equal(readPageUrl(base, readId), 'https://notes.example/r/abc');
  t.equal(filesUrl(base, readId), 'https://notes.example/r/abc/');
  t.equal(noteUrl(base, readId, id), 'https://notes.example/r/abc/20260102T030405Z-0');
  t.equal(
    fileUrl(base, readId, `${id}.png` as NoteFile),
    'https://notes.example/r/abc/20260102T030405Z-0.png',
  );
  t.equal(rssUrl(base, readId), 'https://notes.example/r/abc/feed.xml');
  t.equal(rssUrl(base, readId, { tag: 'a:b' }), 'https://notes.example/r/abc/feed.xml?tag=a%3Ab');
  t.equal(jsonFeedUrl(base, readId), 'https://notes.example/r/abc/feed.json');
  const asked = { to: '2026-01-31', q: '"a b" ✓&', tag: undefined };
  t.equal(
    jsonFeedUrl(base, readId, asked),
    'https://notes.example/r/abc/feed.json?q=%22a%20b%22%20%E2%9C%93%26&to=2026-01-31',
  );
});

t.test('hand-placed ids are percent-encoded and come back', async (t) => {
  for (const id of ['a b', '100%', 'größe', '日記', '?#&', '%2F', "it's"]) {
    const path = noteUrl(base, readId, id as NoteId).slice(filesUrl(base, readId).length);
    t.notMatch(path, /[ ?#/]/);
    t.equal(decodeURIComponent(path), id);
  }
  t.doesNotThrow(() => noteUrl(base, readId, 'lone \ud800' as NoteId));
});

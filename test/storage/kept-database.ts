import type { Test } from 'tap';
import type { NoteFile, NoteId, ReadId } from '../../src/feeds/names.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { eventually } from '../support/eventually.ts';
import { NEW, NO_LIMITS, reads, writes } from '../support/storing.ts';
import { bytesOf, feedName, newNote } from './contract.ts';

const PICTURE = '20261102T080000Z-019a4382-0000-7000-8000-000000000002' as NoteId;
const TEXT = '20261103T080000Z-019a48a8-0000-7000-8000-000000000003' as NoteId;

/** The keys without notes in those that can have any: one that was there, and that of the note that is cleared away. */
export const KEPT_KEYS = ['00112233445566778899aabbccddeeff', 'ffeeddccbbaa99887766554433221100'];

/** What the feed with a password has in those that know of licenses. */
export const KEPT_LICENSE = { license: { text: 'nf1.x.y', id: 'kept-license' } };

/** What those that know of records have: the feed without notes is closed by the first. */
const KEPT_RECORDS = [
  { kind: 'name', key: 'empty', value: 'Größe', at: 1795278830176 },
  { kind: 'link', key: 'still-empty', value: '', at: 1795278830177 },
] as const;

/** What the text has in those that know of keys and expiry. */
const KEPT_META = { key: 'kept-key', posted: { hash: 'kept-hash' }, expires: Date.UTC(2100, 0, 1) };

/**
 * The databases in `schemas/` hold a feed with a picture, a text and a password, one without notes, and a deleted one
 * whose note has yet to be cleared away: all that is there, and more can be stored.
 * @param knows says what else such databases know of
 * @param countNotes counts the notes in the database
 */
export async function checkKept(
  t: Test,
  storage: Storage,
  countNotes: () => number | Promise<number>,
  knows: { readonly keys: boolean; readonly listed: boolean; readonly records: boolean },
): Promise<void> {
  const diary = await storage.feedByReadId('my-diary' as ReadId);
  t.match(diary, {
    key: '2',
    name: 'diary',
    title: 'Diary',
    description: "It's mine",
    showSender: false,
    image: `${PICTURE}.png`,
    passwordHash: '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g',
    changedAt: 1795278830174,
    noteCount: 2,
    imageCount: 1,
    byteCount: 29,
    isBlocked: false,
  });
  t.same(await storage.feed(feedName('diary')), diary);
  t.match(await storage.feed(feedName('empty')), {
    readId: 'still-empty',
    noteCount: 0,
    title: '',
    byteCount: 0,
    isBlocked: knows.records,
  });
  t.same(await storage.totals(), { feeds: 2, notes: 2, pictures: 1, bytes: 29 });
  for (const record of KEPT_RECORDS)
    t.same(await storage.records.list(record.kind, { after: '', limit: 9 }), knows.records ? [record] : []);

  const picture = {
    id: PICTURE,
    type: 'png',
    size: 10,
    createdAt: 1793606400000,
    modifiedAt: 1795278830169,
    meta: { alt: 'A cat', name: 'my cat.png', tags: ['cat'] },
    content: undefined,
  };
  const text = {
    id: TEXT,
    type: 'md',
    size: 19,
    createdAt: 1793692800000,
    modifiedAt: 1795278830171,
    meta: { title: 'Größe', sender: 'Ann', tags: ['a', 'cat'], ...(knows.keys && KEPT_META) },
    content: new Uint8Array(Buffer.from('\uFEFF# Grüße\r\n\0 end')),
  };
  const name = feedName('diary');
  t.same(await reads(storage).page(name, { limit: 9 }), { notes: [text, picture], next: undefined });
  t.same((await reads(storage).page(name, { limit: 9, tag: 'cat' })).notes, [text, picture]);
  t.same((await reads(storage).page(name, { limit: 9, tag: 'a' })).notes, [text]);
  t.same(await reads(storage).note(name, TEXT), text);
  const file = await reads(storage).stat(name, `${PICTURE}.png` as NoteFile);
  t.match(file, { modifiedAt: 1795278830169, sha256: 'Yt5MN0c0tZ0Z2dSAkUJ0oXCPY8nYvNlW8nCwFvYqk9s' });
  t.equal((await bytesOf(file!)).toString('hex'), '89504e470d0a1a0a00ff');

  t.equal(diary?.keepNotes, knows.keys ? 1000 : undefined);
  t.equal(diary?.listed, knows.listed);
  if (knows.keys) {
    t.same(await storage.due(KEPT_META.expires - 1), []);
    t.same(await storage.due(KEPT_META.expires), ['diary']);
  }

  t.equal(await storage.feed(feedName('gone')), undefined);
  const taken = { ...NEW, readId: 'once-taken' as ReadId };
  await t.rejects(writes(storage).post(feedName('gone'), [newNote('x')], taken, NO_LIMITS), {
    code: 'taken',
  });
  t.ok(
    await eventually(async () => (await countNotes()) === 2),
    'what the deleted feed has left is cleared away',
  );
  const target = { kind: 'existing', passwordHash: diary?.passwordHash } as const;
  t.match(await writes(storage).post(name, [newNote('new')], target, NO_LIMITS), { noteCount: 3 });
  const { key, posted } = KEPT_META;
  const again = newNote('again', 'md', { key, posted, tags: [] });
  t.match(await writes(storage).post(name, [again], target, NO_LIMITS), { noteCount: knows.keys ? 3 : 4 });
}

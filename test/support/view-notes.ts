import type { NoteFile, NoteId, ReadId } from '../../src/feeds/names.ts';
import type { NoteMeta } from '../../src/feeds/note.ts';
import type { PictureType } from '../../src/feeds/note-types.ts';
import type { FeedDocument, ViewNote } from '../../src/read/views/document.ts';
import { rendered } from './rendered.ts';

/** Notes and feeds as the views get them. */

export const BASE = 'https://notes.example';
export const READ_ID = 'abcdefghijklmnopqrstuv' as ReadId;
/** 2 January 2026, 03:04:05.678 UTC. */
export const CREATED_AT = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
export const UUID = '019b7c9e-1d2e-7000-8000-0123456789ab';
export const ID = `20260102T030405Z-${UUID}` as NoteId;

/** A markdown note, rendered. */
export function markdownNote(markdown: string, meta: Partial<NoteMeta> = {}, id = ID): ViewNote {
  const note = unrenderedNote(markdown, meta, id);
  return { ...note, rendered: rendered(note.content!) };
}

export function unrenderedNote(markdown: string, meta: Partial<NoteMeta> = {}, id = ID): ViewNote {
  const content = new TextEncoder().encode(markdown);
  return {
    id,
    type: 'md',
    size: content.length,
    createdAt: CREATED_AT,
    modifiedAt: CREATED_AT,
    meta: { tags: [], ...meta },
    content,
  };
}

/** A picture note of 1234 bytes. */
export function pictureNote(meta: Partial<NoteMeta> = {}, id = ID, type: PictureType = 'png'): ViewNote {
  return {
    id,
    type,
    size: 1234,
    createdAt: CREATED_AT,
    modifiedAt: CREATED_AT,
    meta: { tags: [], ...meta },
    content: undefined,
  };
}

/** A feed with these notes, changed an hour after they were made. */
export function feedDocument(
  notes: readonly ViewNote[],
  feed: Partial<FeedDocument['feed']> = {},
): FeedDocument {
  return {
    base: BASE,
    serviceTitle: 'Note Feed',
    readId: READ_ID,
    feed: {
      title: 'My feed',
      description: 'What I note',
      image: undefined,
      showSender: true,
      listed: false,
      changedAt: CREATED_AT + 3_600_000,
      ...feed,
    },
    notes,
  };
}

/** A feed with everything a feed can have. */
export function fullDocument(): FeedDocument {
  const tags = ['news', 'a:b'];
  const id = (suffix: string) => ID.slice(0, -2).concat(suffix) as NoteId;
  const notes = [
    markdownNote('# Title\n\nText with ![alt](x.png)', { tags, sender: 'Ada' }, id('01')),
    pictureNote({ alt: 'A "cat" & <dog>', name: 'cat.png', sender: 'Ada' }, id('02')),
    markdownNote('', { title: 'Set title' }, id('03')),
    pictureNote({}, 'my photo 100%' as NoteId, 'jpg'),
  ];
  return feedDocument(notes, { image: `${id('02')}.png` as NoteFile });
}

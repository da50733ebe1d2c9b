import { NoteIds } from '../../src/feeds/ids.ts';
import type { FeedName } from '../../src/feeds/names.ts';
import type { NewNote } from '../../src/feeds/note.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { mainNote } from '../../src/writing/command.ts';
import { NEW, NO_LIMITS, OPEN, writes } from './storing.ts';

export const KEYED_FEED = 'keyed' as FeedName;
const ids = new NoteIds();

/** Posts the note of a number under its key, every third one with a picture; returns the id of the answer. */
export async function postKeyed(storage: Storage, number: number): Promise<string> {
  const meta = { key: `key ${number}`, posted: { hash: `${number}` }, tags: [] };
  const text: NewNote = { id: ids.next(), type: 'md', meta, bytes: Buffer.from(`text ${number}`) };
  const picture: NewNote = { id: ids.next(), type: 'png', meta: { tags: [] }, bytes: Buffer.from('picture') };
  const notes = number % 3 ? [text] : [picture, text];
  for (;;) {
    const written = await storage.write({
      kind: 'post',
      name: KEYED_FEED,
      target: OPEN,
      notes,
      limits: NO_LIMITS,
    });
    if (written) return written.note?.id ?? mainNote(notes)!.id;
    await writes(storage).create(KEYED_FEED, NEW);
  }
}

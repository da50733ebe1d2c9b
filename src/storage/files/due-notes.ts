import type { NoteFile } from '../../feeds/names.ts';
import type { Ordered } from '../../feeds/order.ts';
import type { Due } from '../../writing/due.ts';
import type { IndexedFeed } from './indexed-feed.ts';

/** A note that is to be removed. */
type DueNote = Ordered & { readonly file: NoteFile };

/** At most `limit` notes of a feed that are due, as far as the index knows: the expired ones first, then the oldest. */
export function dueNotes(
  { notes, marks }: Pick<IndexedFeed, 'notes' | 'marks'>,
  { now, before = Number.NEGATIVE_INFINITY, beyond, except }: Due,
  limit: number,
): DueNote[] {
  const due = new Map<NoteFile, DueNote>();
  for (const file of marks?.expired(now, limit) ?? []) {
    const entry = notes.get(file);
    if (entry) due.set(file, entry);
  }
  // Expired notes are none of those that a feed keeps.
  const tooMany = beyond === undefined ? 0 : notes.size - due.size - beyond;
  let n = 0;
  for (const note of notes.oldest()) {
    if (due.has(note.file)) continue;
    if (due.size >= limit || (n >= tooMany && note.createdAt >= before)) break;
    n += 1;
    if (note.file !== except) due.set(note.file, note);
  }
  return [...due.values()];
}

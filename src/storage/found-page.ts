import type { NoteFile } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import type { FoundPositions } from './search/note-indexer.ts';
import type { FoundPage, NoteSearch } from './storage.ts';

/** Notes of some files, in their order, without those that are gone or have expired. */
export interface LoadedNotes {
  readonly notes: readonly Note[];
  /** How many of the files were looked at: not the last ones if the texts before them are long. */
  readonly count: number;
}

/** What a feed without notes has. */
export const NOTHING_FOUND: FoundPage = { notes: [], next: undefined, isCurrent: true };

/** The notes of a page of the index, as they are now: without those that have another tag or date than is searched for. */
export async function foundPage(
  { positions, next, isCurrent }: FoundPositions,
  { tag, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY }: NoteSearch,
  load: (files: readonly NoteFile[]) => Promise<LoadedNotes>,
): Promise<FoundPage> {
  if (positions.length === 0) return { notes: [], next, isCurrent };
  const loaded = await load(positions.map(({ file }) => file));
  const { count } = loaded;
  const notes = loaded.notes.filter(
    ({ createdAt, meta }) =>
      createdAt >= from && createdAt <= to && (tag === undefined || meta.tags.includes(tag)),
  );
  return { notes, next: count < positions.length ? positions[count - 1] : next, isCurrent };
}

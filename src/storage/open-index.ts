import { removeIndex } from './index-place.ts';
import type { NoteIndexer, NoteIndexerOptions } from './search/note-indexer.ts';

/** Opens the index of a storage; removes it and returns undefined if nobody is to search. Throws the system's error. */
export async function openIndex(
  isOn: boolean,
  options: NoteIndexerOptions,
): Promise<NoteIndexer | undefined> {
  if (isOn) return new (await import('./search/note-indexer.ts')).NoteIndexer(options);
  removeIndex(options.file);
  return undefined;
}

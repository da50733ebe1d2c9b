import { noteFile } from '../feeds/names.ts';
import type { Note, Page, Position } from '../storage/storage.ts';

/**
 * The page up to the last note whose text is within `maxBytes` with all before it; one note at least. Where it is
 * cut, the next page starts with what was left out.
 */
export function withinBudget(page: Page, maxBytes: number): Page {
  let bytes = 0;
  for (const [index, { content }] of page.notes.entries()) {
    bytes += content?.byteLength ?? 0;
    const last = page.notes[index - 1];
    if (bytes > maxBytes && last) return { notes: page.notes.slice(0, index), next: positionOf(last) };
  }
  return page;
}

/** The place of a note in its feed's order. */
export function positionOf({ id, type, createdAt }: Note): Position {
  return { createdAt, file: noteFile(id, type) };
}

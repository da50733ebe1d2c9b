import type { Position } from '../storage/storage.ts';
import { type NoteId, parseNoteFile } from './names.ts';
import { NOTE_TYPES, type NoteType } from './note-types.ts';

export interface Ordered {
  /** Whole ms since the epoch. */
  readonly createdAt: number;
  readonly id: NoteId;
  readonly type: NoteType;
}

/**
 * Orders notes from old to new: by date, then by id (UTF-16 code units), then by type in the order of
 * `NOTE_TYPES`. Zero only for the same note.
 */
export function oldestFirst(a: Ordered, b: Ordered): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  if (a.id !== b.id) return a.id < b.id ? -1 : 1;
  return NOTE_TYPES.indexOf(a.type) - NOTE_TYPES.indexOf(b.type);
}

/** A position in a form that compares with notes. */
export function sortKeyOf(position: Position): Ordered {
  const parsed = parseNoteFile(position.file);
  if (!parsed) throw new TypeError('A position needs the file of a note');
  return { createdAt: position.createdAt, id: parsed.id, type: parsed.type };
}

import type { Position } from '../storage/storage.ts';
import { parseNoteFile } from './names.ts';

/** The largest distance of a date from the epoch, in ms (ECMAScript, "Time Values"). */
export const FURTHEST_DATE = 8.64e15;

/**
 * The text of a position for clients: `<date in base 36>.<file>`. It has two dots and a note id has none, so an id is never a
 * cursor.
 */
export function encodeCursor(position: Position): string {
  // A fraction would bring a dot of its own.
  if (!Number.isSafeInteger(position.createdAt)) throw new TypeError('A position needs a date in whole ms');
  return `${position.createdAt.toString(36)}.${position.file}`;
}

/** The position of a cursor; undefined for a text that `encodeCursor` did not make. */
export function decodeCursor(text: string): Position | undefined {
  const dot = text.indexOf('.');
  const date = text.slice(0, dot);
  const note = parseNoteFile(text.slice(dot + 1));
  const createdAt = Number.parseInt(date, 36);
  if (!note || createdAt.toString(36) !== date || Math.abs(createdAt) > FURTHEST_DATE) return undefined;
  return { createdAt, file: note.file };
}

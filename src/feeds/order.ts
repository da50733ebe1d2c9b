import { type NoteFile, type NoteId, parseNoteFile } from './names.ts';
import { NOTE_TYPES, type NoteType } from './note-types.ts';

/** A place in a feed's order: everything strictly after it (older) is on the next page. */
export interface Position {
  readonly createdAt: number;
  readonly file: NoteFile;
}

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

/** By what feeds are listed: the largest or latest first, names in the order of their bytes. */
export const FEED_ORDERS = ['bytes', 'notes', 'changed', 'created', 'name'] as const;
export type FeedOrder = (typeof FEED_ORDERS)[number];

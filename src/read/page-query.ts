import { dateOfId } from '../feeds/ids.ts';
import { isNoteId, type NoteId, noteFile } from '../feeds/names.ts';
import { NOTE_TYPES } from '../feeds/note-types.ts';
import type { Position } from '../feeds/order.ts';
import { decodeCursor, encodeCursor } from '../feeds/order.ts';
import { validTag } from '../feeds/tags.ts';
import { Refusal } from '../refusals.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;

export interface QuerySource {
  query(name: string): string | undefined;
}

/** A page as a client asks for it. */
export interface RequestedPage {
  readonly limit: number;
  readonly tag: string | undefined;
  /** It starts after this position, or after this note, whose position has to be looked up. */
  readonly before: Position | NoteId | undefined;
}

/**
 * The page that `?limit=`, `?before=` and `?tag=` ask for (contract §4). An empty value is none.
 * @throws Refusal `invalid_request` for a value out of range
 */
export function pageQuery(source: QuerySource): RequestedPage {
  return { limit: parseLimit(source), before: parseBefore(source), tag: tagQuery(source) };
}

/**
 * The tag that `?tag=` asks for; undefined if it is absent or empty.
 * @throws Refusal `invalid_request` if it cannot be a tag
 */
export function tagQuery(source: QuerySource): string | undefined {
  const text = source.query('tag');
  return text ? validTag(text) : undefined;
}

function parseLimit(source: QuerySource): number {
  const text = source.query('limit');
  if (!text) return DEFAULT_LIMIT;
  const value = Number(text);
  if (!/^\d{1,3}$/.test(text) || value < 1 || value > MAX_LIMIT)
    throw new Refusal('invalid_request', `limit is a number from 1 to ${MAX_LIMIT}.`);
  return value;
}

function parseBefore(source: QuerySource): Position | NoteId | undefined {
  const text = source.query('before');
  if (!text) return undefined;
  const position = decodeCursor(text);
  if (position !== undefined) return position;
  if (!isNoteId(text)) throw badBefore();
  const createdAt = dateOfId(text);
  // The last of all files that may have this id, so that the page starts after each of them.
  return createdAt === undefined ? text : { createdAt, file: noteFile(text, NOTE_TYPES[0]) };
}

/** Tells a page from all other pages of its feed. */
export function pageKey({ limit, tag, before }: RequestedPage): string {
  const cursor = typeof before === 'string' ? before : before && encodeCursor(before);
  return `${limit} ${tag ?? ''} ${cursor ?? ''}`;
}

/** The refusal of a `before` that is no position in this feed. */
export function badBefore(): Refusal {
  return new Refusal('invalid_request', 'before is the "next" of an earlier page, or the id of a note.');
}

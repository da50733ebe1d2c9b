import { dateOfId } from '../feeds/ids.ts';
import { parseIsoEnd, parseIsoTime } from '../feeds/iso-time.ts';
import { isNoteId, type NoteId, noteFile } from '../feeds/names.ts';
import { NOTE_TYPES } from '../feeds/note-types.ts';
import { decodeCursor, encodeCursor, type Position } from '../feeds/order.ts';
import { validTag } from '../feeds/tags.ts';
import type { NoteFilter } from '../feeds/urls.ts';
import { Refusal } from '../refusals.ts';
import { parseQuery, type SearchQuery } from '../search/query.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;

export interface QuerySource {
  query(name: string): string | undefined;
}

/** The notes that a client asks for: those that have all of it. */
export interface RequestedNotes {
  readonly query: SearchQuery | undefined;
  readonly tag: string | undefined;
  /** Of this moment or later, ms since the epoch. */
  readonly from: number | undefined;
  /** Of this moment or earlier. */
  readonly to: number | undefined;
  /** The values as the client wrote them; undefined if it asks for all notes. */
  readonly asked: NoteFilter | undefined;
}

/** A page as a client asks for it. */
export interface RequestedPage extends RequestedNotes {
  readonly limit: number;
  /** It starts after this position, or after this note, whose position has to be looked up. */
  readonly before: Position | NoteId | undefined;
}

/**
 * The page that `?limit=`, `?before=` (contract §4) and those of `notesQuery` ask for. An empty value is none.
 * @throws Refusal `invalid_request` for a value out of range
 */
export function pageQuery(source: QuerySource): RequestedPage {
  return { limit: parseLimit(source), before: parseBefore(source), ...notesQuery(source) };
}

/**
 * The notes that `?q=`, `?tag=`, `?from=` and `?to=` ask for (contract §14). An empty value is none.
 * @throws Refusal `invalid_request` that names the value
 */
export function notesQuery(source: QuerySource): RequestedNotes {
  const [q, tag] = [source.query('q') || undefined, source.query('tag') || undefined];
  const [from, to] = [timeText(source, 'from'), timeText(source, 'to')];
  const found = {
    query: q === undefined ? undefined : parseQuery(q),
    tag: tag === undefined ? undefined : validTag(tag),
    from: from === undefined ? undefined : timeOf('from', parseIsoTime(from)),
    to: to === undefined ? undefined : timeOf('to', parseIsoEnd(to)),
  };
  const isAll = (q ?? tag ?? from ?? to) === undefined;
  return { ...found, asked: isAll ? undefined : { q, tag: found.tag, from, to } };
}

/** The plus of a zone that is not encoded, as in `+02:00`, arrives as a space. */
function timeText(source: QuerySource, name: string): string | undefined {
  return source.query(name)?.replace(/ (?=\d\d:\d\d$)/, '+') || undefined;
}

function timeOf(name: string, time: number): number {
  if (!Number.isNaN(time)) return time;
  const examples = 'such as 2026-01-31 or 2026-01-31T12:00:00Z';
  throw new Refusal('invalid_request', `${name} must be an ISO date or time, ${examples}.`);
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
export function pageKey({ limit, asked, before }: RequestedPage): string {
  const cursor = typeof before === 'string' ? before : before && encodeCursor(before);
  return `${limit} ${notesKey(asked)} ${cursor ?? ''}`;
}

/** Tells what is asked for from all else that can be. */
export function notesKey(asked: NoteFilter | undefined): string {
  return asked === undefined ? '' : JSON.stringify(asked);
}

/** The refusal of a `before` that is no position in this feed. */
export function badBefore(): Refusal {
  return new Refusal('invalid_request', 'before is the "next" of an earlier page, or the id of a note.');
}

import type { FeedName, NoteFile, NoteId, ReadId } from './names.ts';

/**
 * The absolute addresses of contract §4 and §6. `base` is the service's own address without a slash at its
 * end. Only the functions that take a `FeedName` give addresses that are keys; all others are public.
 */

/** The feed page. Whoever has this address may write. */
export function feedUrl(base: string, name: FeedName): string {
  return `${base}/${name}`;
}

/** A note by the feed's name. Whoever has this address may write. */
export function noteUrlByName(base: string, name: FeedName, id: NoteId): string {
  return `${base}/${name}/${segment(id)}`;
}

/** The read-only page of a feed. */
export function readPageUrl(base: string, readId: ReadId): string {
  return `${base}/r/${readId}`;
}

/** What relative references in a feed's markdown are relative to; ends with a slash. */
export function filesUrl(base: string, readId: ReadId): string {
  return `${base}/r/${readId}/`;
}

/** The read-only page of a note. */
export function noteUrl(base: string, readId: ReadId, id: NoteId): string {
  return filesUrl(base, readId) + segment(id);
}

/** The bytes of a note. */
export function fileUrl(base: string, readId: ReadId, file: NoteFile): string {
  return filesUrl(base, readId) + segment(file);
}

/** Which notes of a feed an address asks for (contract §14), as it says it; without any member it asks for all. */
export interface NoteFilter {
  readonly q?: string | undefined;
  readonly tag?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The RSS feed; without a query this is the `read_url` of contract §4. */
export function rssUrl(base: string, readId: ReadId, asked?: NoteFilter): string {
  return `${filesUrl(base, readId)}feed.xml${queryOf(asked)}`;
}

/** The JSON Feed. */
export function jsonFeedUrl(base: string, readId: ReadId, asked?: NoteFilter): string {
  return `${filesUrl(base, readId)}feed.json${queryOf(asked)}`;
}

/** The query that asks for these notes, with its question mark; empty for all notes. */
export function queryOf({ q, tag, from, to }: NoteFilter = {}): string {
  const members = Object.entries({ q, tag, from, to }).filter(([, value]) => value !== undefined);
  if (members.length === 0) return '';
  return `?${members.map(([name, value]) => `${name}=${segment(value!)}`).join('&')}`;
}

// A hand-placed id may hold anything, and encodeURIComponent throws on a lone surrogate.
function segment(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** The name percent-decoded; as it is if that yields no text. */
export function percentDecoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

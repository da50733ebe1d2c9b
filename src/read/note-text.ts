import { cutAtWord } from '../feeds/text.ts';
import { escapeAttribute, escapeHtml, withoutForbidden } from './markup.ts';

/** Longest excerpt of a note, in characters. */
const EXCERPT_LENGTH = 500;

// Bytes that are not UTF-8, which only a hand-placed file can hold, become U+FFFD in both.
const exact = new TextDecoder('utf-8', { ignoreBOM: true });
const shown = new TextDecoder('utf-8');

/** A rendered markdown note, wherever its feed is. */
export interface Rendered {
  /** HTML in pieces. Between two of them stands the absolute address of a relative reference. */
  readonly html: readonly string[];
  /** The relative references, percent-encoded; one fewer than the pieces. */
  readonly references: readonly string[];
  /** Its beginning as plain text. */
  readonly excerpt: string;
  /** Offsets in the markdown of the references to pictures of the feed, ascending. */
  readonly pictures: readonly number[];
}

/** About the length of an address: what a relative reference counts, in characters. */
export const REFERENCE_LENGTH = 100;

/** About the length of the HTML with its addresses. */
export function htmlLength({ html, references }: Rendered): number {
  let length = references.length * REFERENCE_LENGTH;
  for (const piece of html) length += piece.length;
  return length;
}

/**
 * The HTML with absolute addresses.
 * @param base what relative references are relative to, with a slash at its end
 */
export function placedHtml({ html, references }: Rendered, base: string): string {
  let placed = html[0]!;
  for (const [n, reference] of references.entries()) {
    // Without an address if a client made up a host that is none.
    placed += escapeAttribute(URL.parse(reference, base)?.href ?? reference) + html[n + 1]!;
  }
  return placed;
}

/** A note that cannot be rendered: its text as written. */
export function unrendered(markdown: Uint8Array): Rendered {
  const text = shownText(markdown);
  return {
    html: [`<pre>${escapeHtml(text)}</pre>`],
    references: [],
    excerpt: excerpt(text),
    pictures: [],
  };
}

/** The beginning of a text on one line, at most 500 characters. */
export function excerpt(text: string): string {
  const beginning = withoutForbidden(text.slice(0, 3 * EXCERPT_LENGTH));
  return cutAtWord(beginning.replace(/\s{2,}|[^\S ]/g, ' ').trim(), EXCERPT_LENGTH);
}

/** A note's text as posted: a byte order mark stays. */
export function exactText(content: Uint8Array): string {
  return exact.decode(content);
}

/** A note's text as shown: without a byte order mark. */
export function shownText(content: Uint8Array): string {
  return shown.decode(content);
}

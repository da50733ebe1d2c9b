import { cutAtWord } from '../feeds/text.ts';
import { escapeHtml, withoutForbidden } from './markup.ts';

/** Longest excerpt of a note, in characters. */
const EXCERPT_LENGTH = 500;

// Bytes that are not UTF-8, which only a hand-placed file can hold, become U+FFFD in both.
const exact = new TextDecoder('utf-8', { ignoreBOM: true });
const shown = new TextDecoder('utf-8');

/** A rendered markdown note. */
export interface Rendered {
  readonly html: string;
  /** Its beginning as plain text. */
  readonly excerpt: string;
  /** The markdown with absolute references to the feed's pictures; undefined if the note has none. */
  readonly text?: string | undefined;
}

/** A note that cannot be rendered: its text as written. */
export function unrendered(markdown: Uint8Array): Rendered {
  const text = shownText(markdown);
  return { html: `<pre>${escapeHtml(text)}</pre>`, excerpt: excerpt(text) };
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

import { cutAtWord } from '../feeds/text.ts';
import { escapeHtml } from './html.ts';
import { shownText } from './text.ts';
import { withoutForbidden } from './xml.ts';

/** Longest excerpt of a note, in characters. */
const EXCERPT_LENGTH = 500;

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

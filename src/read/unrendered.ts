import { excerpt } from './excerpt.ts';
import { escapedText } from './html.ts';
import { shownText } from './text.ts';

/** What the feeds show of a markdown note. */
export interface Rendered {
  readonly html: string;
  /** Its beginning in plain text. */
  readonly excerpt: string;
  /** The markdown with references to the feed's pictures made absolute; undefined if the note has none. */
  readonly text?: string | undefined;
}

/** A note that cannot be rendered: its text as it was written. */
export function unrendered(markdown: Uint8Array): Rendered {
  return { html: escapedText(markdown), excerpt: excerpt(shownText(markdown)) };
}

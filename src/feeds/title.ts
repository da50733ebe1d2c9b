import { BlockScanner } from './block-scanner.ts';
import { withoutEmphasis } from './emphasis.ts';
import { cutAt, shownOneLine } from './text.ts';

/** Longest title of a feed or note, in characters. */
export const TITLE_LENGTH = 100;
/** How much of a line is looked at, in UTF-16 units: marks may stand before and in what is shown. */
const LOOK_LENGTH = 4096;

/**
 * The title that a markdown note has of itself (contract §3): its first ATX or setext heading, else its first line
 * that is not empty without list, quote and emphasis marks. Headings in quotes and lists do not count as such, lines
 * in code fences not at all. At most 100 characters, cut between grapheme clusters; empty when there is nothing to
 * show. Linear in the length of the note.
 */
export function markdownTitle(content: Uint8Array | string): string {
  const scanner = new BlockScanner();
  let firstLine = '';
  for (const line of lines(decode(content))) {
    const { kind, text } = scanner.next(line);
    if (kind === 'heading') {
      const heading = shownTitle(text);
      if (heading !== '') return heading;
    } else if (kind === 'text' && firstLine === '') {
      firstLine = shownTitle(text);
    }
  }
  return firstLine;
}

function decode(content: Uint8Array | string): string {
  if (typeof content === 'string') return content.replace(/^\ufeff/, '');
  return new TextDecoder().decode(content);
}

/** The lines of a text; they end as CommonMark says: LF, CR or both. */
function* lines(text: string): Generator<string> {
  const normal = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  for (let start = 0; start < normal.length; ) {
    const feed = normal.indexOf('\n', start);
    const end = feed === -1 ? normal.length : feed;
    yield normal.slice(start, end);
    start = end + 1;
  }
}

/** A text that serves as a title, on one line and cut at 100 characters between grapheme clusters. */
export function cutTitle(text: string): string {
  return cutAt(shownOneLine(text).trim(), TITLE_LENGTH).trimEnd();
}

function shownTitle(markdown: string): string {
  const start = markdown.trimStart();
  return start === '' ? '' : cutTitle(withoutEmphasis(start.slice(0, LOOK_LENGTH)));
}

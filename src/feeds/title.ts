import { normalizeIdentifier } from 'micromark-util-normalize-identifier';
import { BlockScanner, definedLabel } from './block-scanner.ts';
import { inlineText } from './inline-text.ts';
import { cutAtWord, shownOneLine } from './text.ts';

/** Longest title of a feed or note, in characters. */
export const TITLE_LENGTH = 100;
/** How much of a line is scanned, in UTF-16 units; more than a title, because of marks. */
const MAX_SCANNED_LENGTH = 4096;

/**
 * The title in a markdown note (contract §3): its first ATX or setext heading, else its first line that shows something, as
 * plain text. Headings in quotes and lists count as lines, lines in code fences not at all. At most 100 characters; empty if
 * nothing shows. Linear in the length of the note.
 */
export function markdownTitle(content: Uint8Array | string): string {
  const markdown = decode(content);
  const scanner = new BlockScanner();
  let labels: ReadonlySet<string> | undefined;
  const isDefined = (label: string) => {
    labels ??= definedLabels(markdown);
    return labels.has(label);
  };
  const plain = (text: string) =>
    cutTitle(inlineText(text.trimStart().slice(0, MAX_SCANNED_LENGTH), isDefined));
  let firstLine = '';
  for (const line of lines(markdown)) {
    const { kind, text } = scanner.next(line);
    if (kind === 'heading') {
      const heading = plain(text);
      if (heading !== '') return heading;
    } else if (kind === 'text' && firstLine === '') {
      firstLine = plain(text);
    }
  }
  return firstLine;
}

/** The labels of all definitions on lines of their own. */
function definedLabels(markdown: string): ReadonlySet<string> {
  const labels = new Set<string>();
  for (const line of lines(markdown)) {
    const label = definedLabel(line);
    if (label !== undefined) labels.add(normalizeIdentifier(label));
  }
  return labels;
}

function decode(content: Uint8Array | string): string {
  if (typeof content === 'string') return content.replace(/^\ufeff/, '');
  return new TextDecoder().decode(content);
}

/** The lines of a text, ended by LF, CR or both. */
function* lines(text: string): Generator<string> {
  const normal = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  for (let start = 0; start < normal.length; ) {
    const feed = normal.indexOf('\n', start);
    const end = feed === -1 ? normal.length : feed;
    yield normal.slice(start, end);
    start = end + 1;
  }
}

/** A text as a title on one line; beyond 100 characters it ends with the last whole word and `…`. */
export function cutTitle(text: string): string {
  return cutAtWord(shownOneLine(text).trim(), TITLE_LENGTH);
}

import type { MarkedToken, Token } from 'marked';
import { cutTitle } from '../feeds/text.ts';
import { CpuLimit, CpuLimitReached } from './cpu-limit.ts';
import {
  isFlat,
  type PreparedText,
  parseLine,
  parseMarkdown,
  plainText,
  preparedText,
} from './markdown-parser.ts';
import { withoutForbidden } from './markup.ts';

/** The most that `titlesAtOnce` takes, ms of CPU, and a text more. */
const AT_ONCE_MS = 5;
/** The longest text that is looked through for a heading at once, and how much of a longer one; bytes. */
const MAX_WHOLE = 16 * 1024;
const START = 4 * 1024;
/** The longest beginning of a text that is parsed at once, characters. */
const MAX_BEGINNING = 1000;
/** Every heading that is in no other block has such a line, or two. */
const MAY_BE_HEADING = /^ {0,3}#{1,6}(?:\s|$).*|\S[ \t]*\n {0,3}(?:=+|-+)[ \t]*$/m;
const UNDERLINE = /\n(?:=+|-+) ?$/;
/** Behind its last line a heading or paragraph ends. */
const FIRST_BLOCK = /^\s*\S[\s\S]*?\n[ \t]*\n/;

/**
 * The title in a markdown note (contract §3): its first ATX or setext heading, else its first line that shows something, as
 * plain text. Headings in quotes and lists count as lines, lines in code fences not at all. At most 100 characters; empty if
 * nothing shows.
 */
export function titleOf(blocks: readonly Token[]): string {
  return headingOf(blocks) || lineOf(blocks);
}

/** The titles of texts that show them in a short and flat beginning; undefined for others. */
export function titlesAtOnce(contents: readonly Uint8Array[]): (string | undefined)[] {
  const limit = new CpuLimit(AT_ONCE_MS);
  return contents.map((content) => (limit.isReached ? undefined : titleAtOnce(content, limit)));
}

function titleAtOnce(content: Uint8Array, limit: CpuLimit): string | undefined {
  const isCut = content.length > MAX_WHOLE;
  const text = preparedText(isCut ? content.subarray(0, START) : content);
  const heading = MAY_BE_HEADING.exec(text);
  const end = heading
    ? heading.index + heading[0].length
    : (FIRST_BLOCK.exec(text)?.[0].length ?? text.length);
  const beginning = text.slice(0, end) as PreparedText;
  if (isCut && (!heading || end === text.length)) return undefined;
  if (end > MAX_BEGINNING || !isFlat(beginning.replace(UNDERLINE, ''))) return undefined;
  // A definition may stand behind what it defines.
  if (beginning.includes('[') && (isCut || text.includes(']:'))) return undefined;
  try {
    const blocks = parseMarkdown(beginning, limit);
    return (heading ? headingOf(blocks) : titleOf(blocks)) || undefined;
  } catch (cause) {
    if (cause instanceof CpuLimitReached) return undefined;
    throw cause;
  }
}

/** The first heading that shows something, outside of quotes and lists. */
function headingOf(blocks: readonly Token[]): string {
  for (const block of blocks) {
    if (block.type !== 'heading') continue;
    const lines = plainText(block.tokens ?? []).split('\n');
    const title = plainTitle(lines.map((line) => line.trim()).join(' '));
    if (title !== '') return title;
  }
  return '';
}

/** The first line of a plain text that shows something, as a title. */
export function firstLine(text: string): string {
  for (const line of text.split('\n')) {
    const title = plainTitle(line);
    if (title !== '') return title;
  }
  return '';
}

/** Character references may stand for forbidden characters. */
function plainTitle(text: string): string {
  return cutTitle(withoutForbidden(text));
}

function lineOf(tokens: readonly Token[]): string {
  for (const token of tokens as readonly MarkedToken[]) {
    const line = lineIn(token);
    if (line !== '') return line;
  }
  return '';
}

function lineIn(token: MarkedToken): string {
  switch (token.type) {
    case 'list':
      return lineOf(token.items);
    case 'list_item':
    case 'blockquote':
      return lineOf(token.tokens);
    case 'paragraph':
    case 'heading':
    case 'text':
      return firstLine(plainText(token.tokens ?? []));
    case 'table':
      return firstLine(plainText(parseLine(token.raw.slice(0, token.raw.indexOf('\n')))));
    case 'code':
      return token.codeBlockStyle === 'indented' ? firstLine(token.text) : '';
    case 'html':
      return firstLine(token.text);
    default:
      return '';
  }
}

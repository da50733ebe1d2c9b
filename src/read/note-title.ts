import type { MarkedToken, Token, Tokens } from 'marked';
import { cutTitle } from '../feeds/text.ts';
import { CpuLimit, CpuLimitReached } from './cpu-limit.ts';
import {
  inlineText,
  isFlat,
  type PreparedText,
  parseLine,
  parseMarkdown,
  preparedText,
} from './markdown-parser.ts';
import { withoutForbidden } from './markup.ts';

/** The most that `titlesOnLoop` takes, ms of CPU, and a text more. */
const ON_LOOP_MS = 5;
/** Where a heading is looked for first, because most texts begin with it, bytes. */
const START = 512;
/** The longest text that is looked through as a whole, bytes. */
const MAX_WHOLE = 16 * 1024;
/** The longest beginning of a text that is parsed at once, characters. */
const MAX_BEGINNING = 1000;
/** Matches the line or two lines of a heading. Every heading outside of other blocks matches; other lines may match, too. */
const MAY_BE_HEADING = /^ {0,3}#{1,6}(?:\s|$).*|\S[ \t]*\n {0,3}(?:=+|-+)[ \t]*$/m;
const UNDERLINE = /\n(?:=+|-+) ?$/;
/** Matches up to the first blank line behind some text, where a paragraph certainly ends. */
const FIRST_BLOCK = /^\s*\S[\s\S]*?\n[ \t]*\n/;

/**
 * The title in a markdown note (contract §3): its first ATX or setext heading, else its first line that shows something, as
 * plain text. Headings in quotes and lists count as lines, lines in code fences not at all. At most 100 characters; empty if
 * nothing shows.
 */
export function titleOf(blocks: readonly Token[]): string {
  return firstTitle(headingsIn(blocks)) || firstTitle(linesIn(blocks));
}

/** The titles of texts that show them in a short and flat beginning; undefined for others. */
export function titlesOnLoop(contents: readonly Uint8Array[]): (string | undefined)[] {
  const limit = new CpuLimit(ON_LOOP_MS);
  return contents.map((content) => (limit.isReached ? undefined : titleAtOnce(content, limit)));
}

function titleAtOnce(content: Uint8Array, limit: CpuLimit): string | undefined {
  const isLong = content.length > START;
  const title = isLong ? beginningTitle(content.subarray(0, START), true, limit) : undefined;
  return title ?? (content.length > MAX_WHOLE ? undefined : beginningTitle(content, false, limit));
}

/** @param isCut more of the text follows */
function beginningTitle(content: Uint8Array, isCut: boolean, limit: CpuLimit): string | undefined {
  const text = preparedText(content);
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
    return firstTitle(heading ? headingsIn(blocks) : linesIn(blocks)) || undefined;
  } catch (cause) {
    if (cause instanceof CpuLimitReached) return undefined;
    throw cause;
  }
}

/** The first of these lines that shows something, as a title. */
export function firstTitle(lines: Iterable<string>): string {
  for (const line of lines) {
    // Character references may stand for forbidden characters.
    const title = cutTitle(withoutForbidden(line));
    if (title !== '') return title;
  }
  return '';
}

/** The headings outside of quotes and lists. */
function* headingsIn(blocks: readonly Token[]): Generator<string> {
  for (const { type, tokens = [] } of blocks as readonly Tokens.Generic[])
    if (type === 'heading') {
      const lines = inlineText(tokens).split('\n');
      yield lines.map((line) => line.trim()).join(' ');
    }
}

function* linesIn(tokens: readonly Token[]): Generator<string> {
  for (const token of tokens as readonly MarkedToken[])
    if (token.type === 'list') yield* linesIn(token.items);
    else if (token.type === 'list_item' || token.type === 'blockquote') yield* linesIn(token.tokens);
    else if (token.type === 'table') yield inlineText(parseLine(token.raw.slice(0, token.raw.indexOf('\n'))));
    else if (token.type === 'html' || (token.type === 'code' && token.codeBlockStyle === 'indented'))
      yield* token.text.split('\n');
    else if ('tokens' in token && token.tokens) yield* inlineText(token.tokens).split('\n');
}

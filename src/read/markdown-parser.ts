import { Marked, type Token, Tokenizer, type Tokens } from 'marked';
import { decodeString } from 'micromark-util-decode-string';
import { CpuLimit } from './cpu-limit.ts';
import { beginsFootnote, FOOTNOTES, resetFootnotes } from './footnotes.ts';
import { withoutForbidden } from './markup.ts';
import { REFERENCE_LENGTH, shownText } from './note-text.ts';

/**
 * Limit of the characters that rendering adds. Four constructs amplify a note: short table rows are padded with cells, each
 * use of a link definition repeats its address, relative references become addresses, and a reference to a footnote becomes
 * two links. Without a limit 30 KB of markdown could become gigabytes of HTML.
 */
const MAX_ADDED = 640 * REFERENCE_LENGTH;
/** Characters of an empty table cell in HTML. */
const CELL = 10;
/** CommonMark 6.4, in any case. */
const CHARACTER_REFERENCES = /&(?:#(?:\d{1,7}|x[\da-f]{1,6})|[a-z][a-z\d]{0,30});/gi;

/**
 * A line that is plainly flat: words with short gaps, in a paragraph, a heading or one level of lists. A block in another and a
 * long gap are not, because for these marked's time grows exponentially or by a high power: 300 bytes take minutes. Nor is
 * what could be something else: with `|` a table, with `-` or `=` the underline of a heading, with `<` a block of HTML, with `[^` a footnote.
 */
const FLAT_LINE =
  /^(?:(?:(?:[-*+]|\d{1,9}[.)]|#{1,6}) )?(?![-=<>]|:-|\[\^|(?:\++|\*+|_+|\d+[.)])(?:\s|$))[^\s|](?: {0,2}[^\s|])* {0,2})?$/;

/** A text that can be judged and parsed, see `preparedText`. */
export type PreparedText = string & { readonly isPrepared: true };

/** Of the note that is rendered now, because a thread renders one at a time. */
let added = 0;
let timeLimit = new CpuLimit(0);

/** A subclass, because it is much faster than functions given to marked, which wraps them. */
class LimitedTokenizer extends Tokenizer {
  /** The first thing that is tried at each block. */
  override space(source: string): Tokens.Space | undefined {
    timeLimit.check();
    return super.space(source);
  }

  /** The first thing that is tried at each part of a line. */
  override escape(source: string): Tokens.Escape | undefined {
    timeLimit.check();
    return super.escape(source);
  }

  /** Its expression takes long to find that a block begins with something else. */
  override html(source: string): Tokens.HTML | undefined {
    return /^ {0,3}</.test(source) ? super.html(source) : undefined;
  }

  /** A footnote in a footnote is its text. */
  override def(source: string): Tokens.Def | undefined {
    return parser === footnoteParser && beginsFootnote(source) ? undefined : super.def(source);
  }

  override table(source: string): Tokens.Table | undefined {
    if (!/^.*\n {0,3}[|:-]/.test(source)) return undefined;
    const [, , delimiters = '', rows = ''] = this.rules.block.table.exec(source) ?? [];
    addCharacters(missingCells(delimiters, rows) * CELL);
    return super.table(source);
  }
}

const tokenizer = new LimitedTokenizer();
const plainParser = new Marked().setOptions({ tokenizer });
const footnoteParser = new Marked({ extensions: FOOTNOTES }).setOptions({ tokenizer });
/** Of the note that was parsed last. */
let parser = plainParser;

/** A note's text without a byte order mark and characters that XML forbids, and with LF at the ends of its lines. */
export function preparedText(markdown: Uint8Array): PreparedText {
  return withoutForbidden(shownText(markdown)).replace(/\r\n?/g, '\n') as PreparedText;
}

/** Whether parsing takes at most a time that grows with the square of the length. */
export function isFlat(text: string): boolean {
  return text.split('\n').every((line) => FLAT_LINE.test(line));
}

/**
 * The blocks of a note.
 * @throws CpuLimitReached; after a minute or more for a few texts whose parts alone take that long
 * @throws RangeError if rendering adds too many characters
 */
export function parseMarkdown(text: PreparedText, limit: CpuLimit): Token[] {
  added = 0;
  timeLimit = limit;
  // Extensions slow down all texts.
  parser = text.includes('[^') ? footnoteParser : plainParser;
  resetFootnotes();
  return parser.lexer(text);
}

/** Counts characters that rendering adds to the note that was parsed last. Throws a RangeError if they are too many. */
export function addCharacters(characters: number): void {
  added += characters;
  if (added > MAX_ADDED) throw new RangeError('the rendered note is too large');
}

/** The parts of a line of the note that was parsed last. */
export function parseLine(line: string): Token[] {
  return parser.Lexer.lexInline(line, parser.defaults);
}

/** What the parts of a line show, without marks. */
export function inlineText(tokens: readonly Token[]): string {
  let text = '';
  for (const token of tokens) {
    if (token.type === 'br') text += '\n';
    else if ('tokens' in token && token.tokens) text += inlineText(token.tokens);
    else if ('text' in token) text += token.type === 'text' ? decodeReferences(token.text) : token.text;
  }
  return text;
}

/** The text with the characters that its character references stand for. */
export function decodeReferences(text: string): string {
  return text.includes('&')
    ? text.replace(CHARACTER_REFERENCES, (reference) => decodeString(reference))
    : text;
}

/** About how many cells have to be added to the rows of a table. */
function missingCells(delimiters: string, rows: string): number {
  const columns = delimiters.match(/-+/g)?.length ?? 0;
  const lines = rows.split('\n').length;
  return Math.max(0, columns * lines - (lines + rows.split('|').length));
}

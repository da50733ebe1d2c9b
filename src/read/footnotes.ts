import type { Lexer, Token, TokenizerAndRendererExtension } from 'marked';
import { normalizeIdentifier } from 'micromark-util-normalize-identifier';

/** The text of a footnote. It stands where it was written, but is shown at the end of the note. */
export interface FootnoteDefinition {
  readonly type: 'footnote-definition';
  readonly raw: string;
  readonly blocks: readonly Token[];
}

/** A reference to a footnote. It has no text, so titles and excerpts do not show it. */
export interface FootnoteReference {
  readonly type: 'footnote-reference';
  readonly raw: string;
  readonly definition: FootnoteDefinition;
}

const REFERENCE = /^\[\^([^\s[\]]+)\](?!\()/;
const DEFINITION = / {0,3}\[\^([^\s[\]]+)\]:[ \t]*/y;
/** A line that does not continue a paragraph. */
const OTHER_BLOCK =
  /[ \t]*(?:\n|$)| {0,3}(?:#{1,6}(?:\s|$)|[>|<]|(?:[-+*]|\d{1,9}[.)])\s|`{3}|~{3}|\[\^[^\s[\]]+\]:|([-*_])(?:[ \t]*\1){2,}[ \t]*(?:\n|$))/y;
/** A line that continues a definition, and blank lines before it. */
const INDENTED = /(?:\n[ \t]*)*?\n(?: {4}| {0,3}\t)/y;

/** Of the note that is parsed now, by label; a thread parses one at a time. */
let definitions = new Map<string, FootnoteDefinition>();
/** Whether a definition may begin here. */
let isDefinable = true;

/** Forgets the footnotes of the note before. */
export function resetFootnotes(): void {
  definitions = new Map();
  isDefinable = true;
}

/** Whether a text begins with `[^label]:`, which defines a footnote and not a link. */
export function beginsFootnote(text: string): boolean {
  return matchAt(DEFINITION, text, 0) !== null;
}

export function isFootnoteDefinition(token: Token): token is FootnoteDefinition & Token {
  return token.type === 'footnote-definition';
}

/**
 * Footnotes in GitHub's form: `[^label]` refers to `[^label]: text` at the start of a line, whose further paragraphs are
 * indented by 4 spaces. The first definition of a label counts, definitions do not nest, and a reference without a definition
 * is text.
 */
export const FOOTNOTES: TokenizerAndRendererExtension[] = [
  {
    name: 'footnote-definition',
    level: 'block',
    start(source) {
      if (!isDefinable) return undefined;
      const end = endOfParagraph(source, 0);
      return matchAt(DEFINITION, source, end + 1) ? end : undefined;
    },
    tokenizer(source) {
      return isDefinable ? define(source, this.lexer) : undefined;
    },
  },
  {
    name: 'footnote-reference',
    level: 'inline',
    tokenizer(source): FootnoteReference | undefined {
      const [raw, label] = (source.startsWith('[^') && REFERENCE.exec(source)) || [];
      const definition = label && definitions.get(normalizeIdentifier(label));
      return definition ? { type: 'footnote-reference', raw: raw!, definition } : undefined;
    },
  },
];

function define(source: string, lexer: Lexer): FootnoteDefinition | undefined {
  const [mark, label] = matchAt(DEFINITION, source, 0) ?? [];
  if (mark === undefined || label === undefined) return undefined;
  let end = endOfParagraph(source, mark.length);
  while (matchAt(INDENTED, source, end)) end = endOfParagraph(source, INDENTED.lastIndex);
  const text = source.slice(mark.length, end).replace(/\n(?: {4}| {0,3}\t)/g, '\n');
  const { top } = lexer.state;
  lexer.state.top = true;
  isDefinable = false;
  const blocks = lexer.blockTokens(text, []);
  isDefinable = true;
  lexer.state.top = top;
  const definition: FootnoteDefinition = { type: 'footnote-definition', raw: source.slice(0, end), blocks };
  const key = normalizeIdentifier(label);
  if (!definitions.has(key)) definitions.set(key, definition);
  return definition;
}

/** The end of a paragraph. `offset` must be in its first line. */
function endOfParagraph(source: string, offset: number): number {
  let end = source.indexOf('\n', offset);
  while (end !== -1 && !matchAt(OTHER_BLOCK, source, end + 1)) end = source.indexOf('\n', end + 1);
  return end === -1 ? source.length : end;
}

/** @param pattern a sticky one */
function matchAt(pattern: RegExp, source: string, offset: number): RegExpExecArray | null {
  pattern.lastIndex = offset;
  return pattern.exec(source);
}

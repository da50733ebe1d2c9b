import { decodeString } from 'micromark-util-decode-string';
import { normalizeIdentifier } from 'micromark-util-normalize-identifier';

/** CommonMark 6.4, in any case. */
export const CHARACTER_REFERENCE = String.raw`&(?:#(?:\d{1,7}|x[\da-f]{1,6})|[a-z][a-z\d]{0,30});`;
/** An escape, a character reference, a tag or autolink, a run of marks, or a bracket. */
const SYNTAX = new RegExp(
  String.raw`\\[!-/:-@[-\x60{-~]|${CHARACTER_REFERENCE}|<[^\s<>][^<>]*>|\x60+|\*+|_+|~+|!?\[|\]`,
  'gi',
);
const AUTOLINK = /^<([a-z][a-z\d+.-]{1,31}:[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>$/i;
/** What follows the text of an inline link: `(destination "title")`. */
const RESOURCE =
  /\(\s*(?:<(?:\\.|[^\\<>\n])*>|(?:\\.|[^\s\\()<]|\((?:\\.|[^\s\\()])*\))*)(?:\s+(?:"(?:\\.|[^\\"])*"|'(?:\\.|[^\\'])*'|\((?:\\.|[^\\()])*\)))?\s*\)/y;
/** What may follow the text of a link by reference. */
const LABEL = /\[((?:\\.|[^\\[\]])*)\]/y;

const SPACE = /^\s?$/u;
const PUNCTUATION = /^[\p{P}\p{S}]$/u;

/** What is left of a piece of a line. */
interface Piece {
  text: string;
  /** The character of a run that may be emphasis. */
  readonly mark?: '*' | '_' | '~';
  readonly opens?: boolean;
  readonly closes?: boolean;
}

/** A bracket that may open a link. */
interface Bracket {
  /** Index among the pieces. */
  readonly piece: number;
  /** Offset of the link's text. */
  readonly from: number;
}

/**
 * The text that a line of markdown shows: links and pictures as their text, without marks of emphasis and code, escapes
 * and character references decoded. Raw HTML is text.
 *
 * Follows CommonMark 0.31, section 6, without its rule of three and its ban of links in links. Linear in the length
 * of the line.
 *
 * @param isDefined whether the text defines this normalized label
 */
export function inlineText(line: string, isDefined: (label: string) => boolean): string {
  const pieces: Piece[] = [];
  const brackets: Bracket[] = [];
  const unclosed = new Set<number>();
  let from = 0;
  SYNTAX.lastIndex = 0;
  for (let match = SYNTAX.exec(line); match; match = SYNTAX.exec(line)) {
    const { 0: source, index } = match;
    if (index > from) pieces.push({ text: line.slice(from, index) });
    from = index + source.length;
    const opener = source === ']' ? brackets.pop() : undefined;
    const linkEnd = opener && endOfLink(line, opener.from, index, isDefined);
    const codeEnd = source.startsWith('`') ? endOfCode(line, from, source.length, unclosed) : undefined;
    if (linkEnd !== undefined) {
      const [, ...inside] = pieces.splice(opener!.piece);
      pieces.push({ text: withoutPairs(inside) });
      from = linkEnd;
    } else if (codeEnd !== undefined) {
      pieces.push({ text: line.slice(from, codeEnd).replace(/^ (.*[^ ].*) $/, '$1') });
      from = codeEnd + source.length;
    } else {
      if (source === '[' || source === '![') brackets.push({ piece: pieces.length, from });
      pieces.push(pieceOf(line, source, index));
    }
    SYNTAX.lastIndex = from;
  }
  return withoutPairs(pieces) + line.slice(from);
}

function pieceOf(line: string, source: string, start: number): Piece {
  if (/^(?:\*+|_+|~~?)$/.test(source))
    return { text: source, mark: source[0] as '*' | '_' | '~', ...flanks(line, source, start) };
  if (source.startsWith('<')) return { text: AUTOLINK.exec(source)?.[1] ?? source };
  return { text: decodeString(source) };
}

/**
 * Offset of the backticks that close a code span; undefined if there are none.
 * @param unclosed numbers of backticks that nothing closes in the rest of the line
 */
function endOfCode(line: string, from: number, ticks: number, unclosed: Set<number>): number | undefined {
  if (unclosed.has(ticks)) return undefined;
  const closing = new RegExp(`(?<!\`)\`{${ticks}}(?!\`)`, 'g');
  closing.lastIndex = from;
  const end = closing.exec(line)?.index;
  if (end === undefined) unclosed.add(ticks);
  return end;
}

/** Offset behind the link whose text is between two offsets; undefined if it is no link. */
function endOfLink(
  line: string,
  from: number,
  to: number,
  isDefined: (label: string) => boolean,
): number | undefined {
  const behind = to + 1;
  RESOURCE.lastIndex = behind;
  if (RESOURCE.test(line)) return RESOURCE.lastIndex;
  LABEL.lastIndex = behind;
  const [source = '', label = ''] = LABEL.exec(line) ?? [];
  // A label holds no bracket.
  if (label === '' && line.lastIndexOf('[', to) >= from) return undefined;
  return isDefined(normalizeIdentifier(label || line.slice(from, to))) ? behind + source.length : undefined;
}

function flanks(line: string, { length }: string, start: number): Pick<Piece, 'opens' | 'closes'> {
  const before = [...line.slice(Math.max(0, start - 2), start)].at(-1) ?? '';
  const [after = ''] = line.slice(start + length, start + length + 2);
  const leftFlanking = isFlanking(after, before);
  const rightFlanking = isFlanking(before, after);
  // An underscore inside a word is part of it.
  const inWord = line.charAt(start) === '_' && leftFlanking && rightFlanking;
  return {
    opens: leftFlanking && (!inWord || PUNCTUATION.test(before)),
    closes: rightFlanking && (!inWord || PUNCTUATION.test(after)),
  };
}

/** Whether a run of marks is flanking on the side of `near` (CommonMark 6.2). */
function isFlanking(near: string, far: string): boolean {
  if (SPACE.test(near)) return false;
  return !PUNCTUATION.test(near) || SPACE.test(far) || PUNCTUATION.test(far);
}

/** The text of pieces without the marks of matching opening and closing runs. */
function withoutPairs(pieces: readonly Piece[]): string {
  const open: Record<NonNullable<Piece['mark']>, Piece[]> = { '*': [], _: [], '~': [] };
  for (const run of pieces) {
    if (run.mark === undefined) continue;
    const openers = open[run.mark];
    for (let opener = openers.at(-1); run.closes && run.text && opener; opener = openers.at(-1)) {
      const taken = Math.min(opener.text.length, run.text.length);
      opener.text = opener.text.slice(taken);
      run.text = run.text.slice(taken);
      if (opener.text === '') openers.pop();
    }
    if (run.opens && run.text) openers.push(run);
  }
  return pieces.map(({ text }) => text).join('');
}

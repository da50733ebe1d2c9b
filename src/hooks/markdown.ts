/** Markdown made of texts that others sent: they show as they are, whatever marks are in them. */
import { cutAt, shownOneLine } from '../feeds/text.ts';

/** Longest one-line value unless said otherwise, in characters (code points). */
const LINE_LENGTH = 200;
/** Longest text of several lines, in characters. */
const TEXT_LENGTH = 20_000;
/** Longest address that becomes a link, in UTF-16 units. */
const ADDRESS_LENGTH = 2_000;
/** Most items of a list. */
const MAX_ITEMS = 10;
/** What the blocks of a note may have together, bytes: less than a note may, because blank lines between them come on top. */
const NOTE_BYTES = 90_000;

/**
 * Characters that markdown reads as marks wherever they are. `://`, `www.` and the `@` of an address would make links of GitHub's
 * markdown; `_` within a word is none.
 */
const MARKS = /[\\`*~[\]<|]|(?<![a-z0-9])_|_(?![a-z0-9])|&(?=#?\w+;)|:(?=\/\/)|(?<=\bwww)\.|(?<=[\w.+-])@/gi;
/** What is a mark at the start of a line only. */
const LINE_START = /^(?:>|=(?==*$)|#(?=#{0,5}(?:\s|$))|[-+](?=[\s-]|$)|:(?=-)|\d{1,9}(?=[.)](?:\s|$)))/;

/** A text on one line, cut with `…` beyond `LINE_LENGTH` characters. */
export function asText(text: string): string {
  return escapedLine(shortened(text));
}

/** A text on one line, not escaped: without controls and direction overrides, cut with `…` beyond `max` characters. */
export function shortened(text: string, max = LINE_LENGTH): string {
  // The text is cut before it is cleaned, too, because cleaning all of a very long text takes long.
  const line = shownLine(cutAt(text, 2 * max)).trim();
  return cutText(line, max);
}

/**
 * One line without characters that notes do not show. The renderer removes characters that XML forbids (XML 1.0 §2.2). Marks around
 * such characters alone would then stand next to each other and mean something else.
 */
export function shownLine(text: string): string {
  return shownOneLine(text).replace(/[\ufffe\uffff]/g, ' ');
}

/** Escapes a part of a line. */
export function escaped(text: string): string {
  return text.replace(MARKS, '\\$&');
}

/** Escapes what the start of a line could begin, after its parts were escaped. */
export function escapedStart(line: string): string {
  return line.replace(LINE_START, (start) => (/\d/.test(start) ? `${start}\\` : `\\${start}`));
}

function escapedLine(line: string): string {
  return escapedStart(escaped(line));
}

export function strong(text: string): string {
  const shown = asText(text);
  return shown === '' ? '' : `**${shown}**`;
}

/** A name such as that of a branch as code; as text if it has characters that could end the code. */
export function asCode(text: string): string {
  const line = shortened(text, 100);
  return line === '' || /[`[\]\\<>]/.test(line) ? escapedLine(line) : `\`${line}\``;
}

/** A text, which is markdown, as a link; that text alone if the address is not one of http or https. */
export function linked(markdown: string, address: string): string {
  return (markdown && link(markdown, address)) || markdown;
}

/**
 * A link; empty if the address is not one of http or https. Escaped brackets in its text become character references, because
 * marked removes the escapes and then finds pictures there.
 */
export function link(markdown: string, address: string): string {
  const target = webAddress(address)
    ?.replace(/[()]/g, (bracket) => (bracket === '(' ? '%28' : '%29'))
    .replace(/&(?=#?\w+;)/g, '&amp;');
  const text = markdown.replace(/\\(.)/gs, (pair, character) => BRACKETS[character] ?? pair);
  return target === undefined ? '' : `[${text}](${target})`;
}

const BRACKETS: Readonly<Record<string, string>> = { '[': '&#91;', ']': '&#93;' };

/** An address as a link to itself; empty if it is not one of http or https. */
export function bareLink(address: string): string {
  const target = webAddress(address);
  return target === undefined ? '' : `<${target}>`;
}

/** An address, percent-encoded; undefined unless it is one of http or https, without a user name or password. */
function webAddress(text: string): string | undefined {
  const url = text.length <= ADDRESS_LENGTH ? URL.parse(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    return undefined;
  return url.href.replace(
    /[\\<>`|]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** A text, cut with `…` beyond `max` characters. */
export function cutText(text: string, max = TEXT_LENGTH): string {
  const cut = cutAt(text, max);
  return cut === text ? text : `${cut.trimEnd()}…`;
}

/** A line of a text of several lines. */
export interface Line {
  readonly kind: 'text' | 'item' | 'quote';
  /** Escaped. */
  readonly markdown: string;
}

/** A text of several lines: its paragraphs and line breaks stay. `read` finds out what a line is; by default text or an item. */
export function asParagraphs(text: string, read: (line: string) => Line = plainLine): string {
  let markdown = '';
  let before: Line['kind'] | undefined;
  for (const source of cutText(text).split(/\r\n|[\n\r\u2028\u2029]/)) {
    const line = read(shownLine(source).trim());
    if (line.markdown === '') before = undefined;
    else {
      const mark = MARKS_OF_LINES[line.kind];
      const isSame = line.kind === before;
      if (markdown !== '') markdown += isSame ? (line.kind === 'item' ? '\n' : '  \n') : '\n\n';
      markdown += mark + line.markdown;
      before = line.kind;
    }
  }
  return markdown;
}

const MARKS_OF_LINES = { text: '', item: '- ', quote: '> ' };

/** People write lists also where nothing else is a mark. */
function plainLine(line: string): Line {
  const item = /^[-*•] +(.+)$/.exec(line)?.[1];
  return item === undefined
    ? { kind: 'text', markdown: escapedLine(line) }
    : { kind: 'item', markdown: escapedLine(item) };
}

/** A block of code, cut with `…` beyond 20,000 characters. */
export function codeBlock(code: string): string {
  const lines = cutText(code)
    .split(/\r\n|[\n\r]/)
    .map(shownLine);
  const longest = Math.max(2, ...lines.map((line) => /^\s*(`*)/.exec(line)![1]!.length));
  const fence = '`'.repeat(longest + 1);
  return [fence, ...lines, fence].join('\n');
}

/** A list of at most 10 of the items, which are markdown, and how many more there are. */
export function list(items: readonly string[], total = items.length): string {
  const shown = items.slice(0, MAX_ITEMS).filter((item) => item !== '');
  const more = total - Math.min(items.length, MAX_ITEMS);
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].map((item) => `- ${item}`).join('\n');
}

/** A note of these blocks but the empty ones; it ends with `…` where more would be too long. */
export function blocks(...parts: readonly string[]): string {
  const shown: string[] = [];
  let left = NOTE_BYTES;
  for (const part of parts) {
    if (part === '') continue;
    left -= Buffer.byteLength(part);
    if (left < 0) return [...shown, '…'].join('\n\n');
    shown.push(part);
  }
  return shown.join('\n\n');
}

/** Parts of a line but the empty ones, with `·` between them. */
export function inRow(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' · ');
}

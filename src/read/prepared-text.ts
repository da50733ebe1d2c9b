import { parseNoteFile } from '../feeds/names.ts';
import { withoutForbidden } from './markup.ts';
import { exactText } from './note-text.ts';

const LOOKS_LIKE_PICTURE = '{0,800}?(?:png|jpg|gif|webp|[%&])';
/** `](` or `]:` with an unescaped bracket, and quote marks on the next line. */
const BEFORE = String.raw`\](?<=(?:^|[^\\])(?:\\\\)*\])[(:][\s>]*`;
/**
 * Where the destination of a picture may begin. A mark inserted after this match cannot change how markdown parses: no
 * emphasis, fence, list or table can start here.
 */
const START = new RegExp(
  `(${BEFORE}(?:<(?=[^\\n<>]${LOOKS_LIKE_PICTURE})|(?=[^\\s<>]${LOOKS_LIKE_PICTURE})))` +
    '(?:[*_~]+(?=[\\p{L}\\p{N}])|(?=[^\\s<>!)*_~`|+=-]))(?![a-z][a-z\\d+.-]*:|[/#?])',
  'giu',
);
const [ZERO, ONE] = ['\ufffe', '\uffff'];
/** Any folder, because a reference to a picture means the same in all. */
const FOLDER = 'https://folder.invalid/r/-/';
const MARK = /^[*_~]*([\ufffe\uffff]+)/;

/**
 * A line that is plainly flat: words with short gaps, in a paragraph, a heading or one level of lists. A block in another and a
 * long gap are not, because for these marked's time grows exponentially or by a high power: 300 bytes take minutes. Nor is
 * what could be something else: with `|` a table, with `-` or `=` the underline of a heading, with `<` a block of HTML.
 */
const FLAT_LINE =
  /^(?:(?:(?:[-*+]|\d{1,9}[.)]|#{1,6}) )?(?![-=<>]|:-|(?:\++|\*+|_+|\d+[.)])(?:\s|$))[^\s|](?: {0,2}[^\s|])* {0,2})?$/;

/**
 * A note's text as the parser gets it: without a byte order mark, without characters that XML forbids, and with LF at the
 * ends of its lines. Only such a text can be judged or parsed, so what is parsed has been judged.
 *
 * The parser tells what is a reference to a picture, but not where it stands, so each place where one may begin is marked with
 * its number. A number is written in characters that no text holds (XML forbids them) and that markdown takes for letters.
 */
export class PreparedText {
  readonly source: string;
  readonly markdown: Uint8Array;
  /** Offsets in the markdown at which destinations may begin. */
  readonly #starts: number[] = [];

  constructor(markdown: Uint8Array) {
    this.markdown = markdown;
    const text = exactText(markdown);
    let source = '';
    let from = text.startsWith('\ufeff') ? 1 : 0;
    for (const { 0: match, 1: before = '', index } of text.matchAll(START)) {
      const end = index + match.length;
      source += withoutForbidden(text.slice(from, end)) + markOf(this.#starts.length);
      this.#starts.push(index + before.length);
      from = end;
    }
    this.source = (source + withoutForbidden(text.slice(from))).replace(/\r\n?/g, '\n');
  }

  /** Whether parsing takes at most a time that grows with the square of the length. */
  get isFlat(): boolean {
    return this.source.split('\n').every((line) => FLAT_LINE.test(line));
  }

  /**
   * Where a picture of the feed is referred to: an offset in the markdown; undefined if `destination` is something else.
   * @param destination as in `source`
   * @param reference what it says, percent-encoded
   */
  pictureAt(destination: string, reference: string): number | undefined {
    const mark = MARK.exec(destination)?.[1];
    return mark !== undefined && isPicture(reference) ? this.#starts[numberOf(mark)] : undefined;
  }
}

/** The markdown with `base` inserted at these offsets. Nothing else changes. */
export function withBaseAt(offsets: readonly number[], markdown: string, base: string): string {
  let text = '';
  let from = 0;
  for (const offset of offsets) {
    text += markdown.slice(from, offset) + base;
    from = offset;
  }
  return text + markdown.slice(from);
}

/** Whether the name of a picture, put behind the address of a folder, is the address that a relative reference means. */
function isPicture(reference: string): boolean {
  const address = URL.parse(reference, FOLDER)?.href;
  if (!address?.startsWith(FOLDER) || address !== URL.parse(FOLDER + reference)?.href) return false;
  const [, name] = /^([^/?#]+)$/.exec(address.slice(FOLDER.length)) ?? [];
  const file = name === undefined ? undefined : parseNoteFile(percentDecoded(name));
  return file !== undefined && file.type !== 'md';
}

function percentDecoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function markOf(number: number): string {
  return number.toString(2).replaceAll('0', ZERO).replaceAll('1', ONE);
}

function numberOf(mark: string): number {
  return Number.parseInt(mark.replaceAll(ZERO, '0').replaceAll(ONE, '1'), 2);
}

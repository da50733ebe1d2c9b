import { parseNoteFile } from '../feeds/names.ts';
import { withoutForbidden } from './markup.ts';

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
const MARK = /^[*_~]*([\ufffe\uffff]+)/;

/**
 * The references of a note to pictures of its feed. The parser tells what is a reference, but not where it stands, so
 * each place where one may begin is marked with its number before the text is parsed. A number is written in
 * characters that no text holds (XML forbids them) and that markdown takes for letters.
 */
export class PictureReferences {
  /** The text to parse: without characters that XML forbids but for the marks, and without a byte order mark. */
  readonly marked: string;
  readonly #text: string;
  readonly #base: string;
  /** Offsets in the text at which destinations may begin. */
  readonly #starts: number[] = [];
  readonly #shown = new Set<number>();

  /** @param base the folder of the feed's files, with a slash at its end */
  constructor(text: string, base: string) {
    this.#text = text;
    this.#base = base;
    let marked = '';
    let from = text.startsWith('\ufeff') ? 1 : 0;
    for (const { 0: match, 1: before = '', index } of text.matchAll(START)) {
      const end = index + match.length;
      marked += withoutForbidden(text.slice(from, end)) + markOf(this.#starts.length);
      this.#starts.push(index + before.length);
      from = end;
    }
    this.marked = marked + withoutForbidden(text.slice(from));
  }

  /**
   * Notes that the HTML shows `address` for a destination.
   * @param destination as in the marked text
   * @param reference what it says, percent-encoded
   */
  recordUse(destination: string, reference: string, address: string): void {
    const mark = MARK.exec(destination)?.[1];
    if (mark === undefined || !this.#isPicture(address)) return;
    if (URL.parse(this.#base + reference)?.href === address) this.#shown.add(numberOf(mark));
  }

  /** The text with the shown references made absolute; undefined if there are none. Nothing else changes. */
  absoluteText(): string | undefined {
    if (this.#shown.size === 0) return undefined;
    let text = '';
    let from = 0;
    for (const number of [...this.#shown].sort((a, b) => a - b)) {
      const place = this.#starts[number]!;
      text += this.#text.slice(from, place) + this.#base;
      from = place;
    }
    return text + this.#text.slice(from);
  }

  #isPicture(address: string): boolean {
    if (!address.startsWith(this.#base)) return false;
    const [, name] = /^([^/?#]+)$/.exec(address.slice(this.#base.length)) ?? [];
    const file = name === undefined ? undefined : parseNoteFile(percentDecoded(name));
    return file !== undefined && file.type !== 'md';
  }
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

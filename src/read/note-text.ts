import type { PixelSize } from '../feeds/picture-bytes.ts';
import { escapeAttribute } from './markup.ts';

/** A reference counts as so many characters, about the length of the address that replaces it. */
export const REFERENCE_LENGTH = 100;
/** The same of a tag. */
const PART_LENGTH = 10;

const DEEPEST_HEADING = 6;

// Bytes that are not UTF-8, which only a hand-placed file can hold, become U+FFFD in both.
const exact = new TextDecoder('utf-8', { ignoreBOM: true });
const shown = new TextDecoder('utf-8');

/** A tag that a page has with what people need who navigate by keyboard or screen reader. */
interface Tag {
  readonly feed: string;
  readonly page: string;
}

const box = '<div class="wide" role="group" aria-label="Table" tabindex="0">';
/** The tags that are not the same in a feed as in a page. */
export const TAGS = {
  pre: { feed: '<pre>', page: '<pre tabindex="0">' },
  table: { feed: '<table>', page: `${box}<table>` },
  tableEnd: { feed: '</table>', page: '</table></div>' },
  task: { feed: '<li>', page: '<li class="task">' },
  link: { feed: '<a', page: '<a rel="noreferrer noopener nofollow"' },
} as const satisfies Record<string, Tag>;

/**
 * What HTML consists of: HTML as it is, a tag, the begin of a heading of level n or its end (-n), and the attributes with an
 * address that is relative or a picture's. Addresses are percent-encoded; a picture has none if it must not be loaded.
 */
export type Part =
  | string
  | number
  | Tag
  | { readonly link: string }
  | { readonly picture: string | undefined };

/** A markdown note as it is shown, wherever its feed is. Plain data, because it comes from a worker. */
export interface Rendered {
  /** As of the contract, §3 "Title of a note"; empty if nothing shows. */
  readonly title: string;
  readonly html: readonly Part[];
  /** Its beginning as plain text. */
  readonly excerpt: string;
  /** Offsets in the markdown of the references to pictures of the feed, ascending. */
  readonly pictures: readonly number[];
}

/** The page that a note is shown in. */
export interface Page {
  /** Of the heading above the note. */
  readonly level: number;
  /** Known sizes of pictures by their addresses. */
  readonly sizes: ReadonlyMap<string, PixelSize>;
}

/** About the length of the HTML with its addresses. */
export function htmlLength({ html }: Pick<Rendered, 'html'>): number {
  let length = 0;
  for (const part of html)
    if (typeof part === 'string') length += part.length;
    else length += typeof part === 'number' || 'feed' in part ? PART_LENGTH : REFERENCE_LENGTH;
  return length;
}

/**
 * The HTML with absolute addresses.
 * @param base what relative references are relative to, with a slash at its end
 * @param page adapts it to a page: headings below its own, pictures that load late, boxes that scroll
 */
export function placedHtml({ html }: Pick<Rendered, 'html'>, base: string, page?: Page): string {
  const outline: number[] = [];
  let placed = '';
  for (const part of html) {
    if (typeof part === 'string') placed += part;
    else if (typeof part === 'number') placed += headingTag(part, page, outline);
    else if ('feed' in part) placed += page ? part.page : part.feed;
    else if ('link' in part) placed += attribute('href', addressOf(part.link, base));
    else placed += picture(part.picture, base, page);
  }
  return placed;
}

/** The absolute address of the first picture that has one; undefined if there is none. */
export function firstPicture({ html }: Pick<Rendered, 'html'>, base: string): string | undefined {
  for (const part of html) {
    if (typeof part !== 'object' || !('picture' in part) || part.picture === undefined) continue;
    const address = addressOf(part.picture, base);
    if (/^https?:/.test(address)) return address;
  }
  return undefined;
}

/** Whether an address is written in full. Such as `http:x` is relative to a base of its own scheme. */
export function isAbsolute(reference: string): boolean {
  return /^(?:https?:\/\/|mailto:)/i.test(reference);
}

/** A note's text as posted: a byte order mark stays. */
export function exactText(content: Uint8Array): string {
  return exact.decode(content);
}

/** A note's text as shown: without a byte order mark. */
export function shownText(content: Uint8Array): string {
  return shown.decode(content);
}

/** @param outline levels of the headings around this one */
function headingTag(heading: number, page: Page | undefined, outline: number[]): string {
  const end = heading < 0 ? '/' : '';
  if (page === undefined) return `<${end}h${Math.abs(heading)}>`;
  if (heading > 0) {
    // No level is skipped, because screen readers navigate by them.
    while (outline.length > 0 && outline.at(-1)! >= heading) outline.pop();
    outline.push(heading);
  }
  return `<${end}h${Math.min(page.level + outline.length, DEEPEST_HEADING)}>`;
}

function picture(reference: string | undefined, base: string, page: Page | undefined): string {
  const address = reference === undefined ? undefined : addressOf(reference, base);
  const source = address === undefined ? '' : attribute('src', address);
  if (page === undefined) return source;
  const size = address === undefined ? undefined : page.sizes.get(address);
  const place = size === undefined ? '' : ` width="${size.width}" height="${size.height}"`;
  return `${source}${place} loading="lazy" decoding="async" referrerpolicy="no-referrer"`;
}

function attribute(name: string, value: string): string {
  return ` ${name}="${escapeAttribute(value)}"`;
}

/** An absolute reference stays as written. One stays relative if a client made up a host that is none. */
function addressOf(reference: string, base: string): string {
  return isAbsolute(reference) ? reference : (URL.parse(reference, base)?.href ?? reference);
}

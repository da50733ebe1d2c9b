import type { NoteMeta } from '../feeds/note.ts';
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

/** A tag in two forms: for feeds, and for pages, where people also navigate by keyboard or screen reader. */
interface Tag {
  readonly feed: string;
  readonly page: string;
}

/** Pages say in words that a picture has no alternative text: an empty one would call it decoration. */
const NO_ALT = attribute('alt', 'Picture without a description');
const LEAVING = ' rel="noreferrer noopener nofollow"';

/** The tags, and parts of tags, that are not the same in a feed as in a page. */
export const TAGS = {
  pre: { feed: '<pre>', page: '<pre tabindex="0">' },
  table: { feed: '<table', page: '<div class="wide" role="group" aria-label="Table" tabindex="0"' },
  tableStart: { feed: '>', page: '><table>' },
  tableEnd: { feed: '</table>', page: '</table></div>' },
  left: { feed: ' align="left"', page: ' class="left"' },
  center: { feed: ' align="center"', page: ' class="center"' },
  right: { feed: ' align="right"', page: ' class="right"' },
  task: { feed: '<li', page: '<li class="task"' },
  link: { feed: '<a', page: `<a${LEAVING}` },
  noAlt: { feed: '', page: NO_ALT },
  linkedPictureEnd: { feed: ' />', page: ' /></a>' },
  footnotes: {
    feed: '<hr />\n<ol>\n',
    page: '<section class="footnotes" role="doc-endnotes" aria-label="Footnotes">\n<ol>\n',
  },
  footnotesEnd: { feed: '</ol>\n', page: '</ol>\n</section>\n' },
  sameDirection: { feed: '', page: '' },
  ltr: { feed: '', page: ' dir="ltr"' },
  rtl: { feed: '', page: ' dir="rtl"' },
} as const satisfies Record<string, Tag>;

/** The start of an image, with its address percent-encoded; none if it must not be loaded. */
interface Picture {
  readonly picture: string | undefined;
  /** If it is not, it links to its file in a page. */
  readonly isInLink?: boolean;
}

/** The links from the end of a footnote to each of its references. */
export interface BackLinks {
  readonly footnote: number;
  /** How many there are. */
  backLinks: number;
}

/**
 * A part of rendered HTML. A string is HTML that is the same everywhere. A number n is the start tag of a heading of level n
 * without its `>`, and -n the end tag. `link` is a relative address, percent-encoded, which becomes an attribute. `footnote` with
 * `reference` is the n-th reference to a footnote, and alone the start tag of its list item without `>`.
 */
export type Part =
  | string
  | number
  | Tag
  | { readonly link: string }
  | Picture
  | { readonly footnote: number; readonly reference?: number }
  | BackLinks;

/** The end of an image. */
export function pictureEnd({ picture, isInLink }: Picture): Part {
  return picture === undefined || isInLink ? ' />' : TAGS.linkedPictureEnd;
}

/** The alternative text of a picture note. In feeds, the file name stands in for a missing one. */
export function pictureAlt({ alt, name }: Pick<NoteMeta, 'alt' | 'name'>): Part {
  if (alt) return attribute('alt', alt);
  return { feed: name ? attribute('alt', name) : '', page: NO_ALT };
}

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
  /** Part of the ids of the note's footnotes, because a page shows several notes. */
  readonly id?: string;
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
 * @param base what relative references are relative to, with a slash at its end; without one they get no address
 * @param page adapts it to a page: headings below its own, pictures that load late, boxes that scroll, links
 * between footnotes and to pictures
 */
export function placedHtml({ html }: Pick<Rendered, 'html'>, base: string | undefined, page?: Page): string {
  const outline: number[] = [];
  let placed = '';
  for (const part of html) {
    if (typeof part === 'string') placed += part;
    else if (typeof part === 'number') placed += headingTag(part, page, outline);
    else if ('feed' in part) placed += page ? part.page : part.feed;
    else if ('link' in part) placed += attribute('href', addressOf(part.link, base));
    else if ('picture' in part) placed += picture(part, base, page);
    else placed += footnote(part, page);
  }
  return placed;
}

/** The absolute address of the first picture that has one; undefined if there is none. */
export function firstPicture(rendered: Pick<Rendered, 'html'>, base: string): string | undefined {
  return pictureAddresses(rendered, base).find((address) => /^https?:/.test(address));
}

/** The addresses of the pictures that have one, in their order. */
export function pictureAddresses({ html }: Pick<Rendered, 'html'>, base: string): readonly string[] {
  const addresses: string[] = [];
  for (const part of html)
    if (typeof part === 'object' && 'picture' in part && part.picture !== undefined)
      addresses.push(addressOf(part.picture, base));
  return addresses;
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
  if (page === undefined) return heading < 0 ? `</h${-heading}>` : `<h${heading}`;
  if (heading > 0) {
    // No level is skipped, because screen readers navigate by them.
    while (outline.length > 0 && outline.at(-1)! >= heading) outline.pop();
    outline.push(heading);
  }
  const name = `h${Math.min(page.level + outline.length, DEEPEST_HEADING)}`;
  return heading < 0 ? `</${name}>` : `<${name}`;
}

function picture({ picture, isInLink }: Picture, base: string | undefined, page: Page | undefined): string {
  const address = picture === undefined ? undefined : addressOf(picture, base);
  const source = attribute('src', address);
  if (page === undefined) return `<img${source}`;
  const size = address === undefined ? undefined : page.sizes.get(address);
  const place = size === undefined ? '' : ` width="${size.width}" height="${size.height}"`;
  const image = `<img${source}${place} loading="lazy" decoding="async" referrerpolicy="no-referrer"`;
  if (isInLink || picture === undefined) return image;
  const isOfFeed = address === undefined || (base !== undefined && address.startsWith(base));
  return `<a class="picture"${isOfFeed ? '' : LEAVING}${attribute('href', address)}>${image}`;
}

/** Feeds have numbers without links, because readers show many notes in one document. */
function footnote(
  part: { readonly footnote: number; readonly reference?: number } | BackLinks,
  page: Page | undefined,
): string {
  const { footnote } = part;
  const name = `${page?.id ?? ''}-${footnote}`;
  if ('backLinks' in part) {
    if (page === undefined) return '';
    return Array.from({ length: part.backLinks }, (_, n) => backLink(name, footnote, n + 1)).join('');
  }
  const { reference } = part;
  if (reference === undefined) return page ? `<li${attribute('id', `fn-${name}`)}` : '<li';
  if (page === undefined) return `<sup>${footnote}</sup>`;
  const id = attribute('id', `ref-${name}-${reference}`);
  return `<sup><a${id}${fragment(`fn-${name}`)} role="doc-noteref">${footnote}</a></sup>`;
}

function backLink(name: string, footnote: number, reference: number): string {
  const label = reference === 1 ? `${footnote}` : `${footnote}-${reference}`;
  const address = fragment(`ref-${name}-${reference}`);
  return ` <a${address} role="doc-backlink" aria-label="Back to reference ${label}">↩</a>`;
}

function fragment(id: string): string {
  return attribute('href', `#${encodeURIComponent(id)}`);
}

function attribute(name: string, value: string | undefined): string {
  return value === undefined ? '' : ` ${name}="${escapeAttribute(value)}"`;
}

/** An absolute reference stays as written. A relative one stays so if the base is not a valid URL, because a client made up its host. */
function addressOf(reference: string, base: string): string;
function addressOf(reference: string, base: string | undefined): string | undefined;
function addressOf(reference: string, base: string | undefined): string | undefined {
  if (isAbsolute(reference)) return reference;
  return base === undefined ? undefined : (URL.parse(reference, base)?.href ?? reference);
}

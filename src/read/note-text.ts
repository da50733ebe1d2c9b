import type { NoteMeta } from '../feeds/note.ts';
import type { PixelSize } from '../feeds/picture-bytes.ts';
import { escapeAttribute, withoutForbidden } from './markup.ts';

/** A reference counts as so many characters, about the length of the address that replaces it. */
export const REFERENCE_LENGTH = 100;
/** The same of a tag. */
const TAG_LENGTH = 10;
/** Around a mark in rendered HTML. */
const MARK = '\0';
/** In the mark of a picture, and nowhere else in rendered HTML, so that they are found fast. */
const PICTURE = '\x01';

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
const LATE = ' loading="lazy" decoding="async" referrerpolicy="no-referrer"';

/** The tags, and parts of tags, that are not the same in a feed as in a page. */
const TAGS = {
  pre: { feed: '<pre>', page: '<pre tabindex="0">' },
  table: { feed: '<table', page: '<div class="wide" role="group" aria-label="Table" tabindex="0"' },
  tableStart: { feed: '>', page: '><table>' },
  tableEnd: { feed: '</table>', page: '</table></div>' },
  left: { feed: ' align="left"', page: ' class="left"' },
  center: { feed: ' align="center"', page: ' class="center"' },
  right: { feed: ' align="right"', page: ' class="right"' },
  task: { feed: '<li', page: '<li class="task"' },
  link: { feed: '<a', page: `<a${LEAVING}` },
  /** The start of an image that must not be loaded. */
  noPicture: { feed: '<img', page: `<img${LATE}` },
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
type TagName = keyof typeof TAGS;

/** A part of HTML that depends on the view. */
interface Mark {
  /** A character that says what it is, and its value. */
  readonly mark: string;
  /** About the length of what is written there. */
  readonly length: number;
}

/** A part of rendered HTML. A text is HTML that is the same everywhere. */
export type Part = string | Mark;

export function tag(name: TagName): Mark {
  return { mark: `<${name}`, length: TAG_LENGTH };
}

/** The start tag of a heading without its `>`; of minus its level, the end tag. */
export function heading(level: number): Mark {
  return { mark: `#${level}`, length: TAG_LENGTH };
}

/** The `href` of a link to a relative address, percent-encoded. */
export function link(reference: string): Mark {
  return { mark: `[${reference}`, length: REFERENCE_LENGTH };
}

/** The start of an image by its address, percent-encoded. In a page it links to its file, unless it is in a link. */
export function image(reference: string, isInLink: boolean): Mark {
  return { mark: `${isInLink ? '|' : '!'}${PICTURE}${reference}`, length: REFERENCE_LENGTH };
}

/** The n-th reference to a footnote. */
export function footnoteReference(footnote: number, n: number): Mark {
  return { mark: `^${footnote} ${n}`, length: REFERENCE_LENGTH };
}

/** The start tag of a footnote's list item without `>`. */
export function footnoteItem(footnote: number): Mark {
  return { mark: `:${footnote}`, length: REFERENCE_LENGTH };
}

/** The links from the end of a footnote to each of its references. */
export class BackLinks implements Mark {
  readonly footnote: number;
  readonly length = REFERENCE_LENGTH;
  /** How many there are. */
  count = 0;

  constructor(footnote: number) {
    this.footnote = footnote;
  }

  get mark(): string {
    return `~${this.footnote} ${this.count}`;
  }
}

/** The parts as one text, because threads copy a text at once, but a list member by member. */
export function htmlOf(parts: readonly Part[]): Pick<Rendered, 'html' | 'htmlLength'> {
  const texts = parts.map((part) =>
    typeof part === 'string' ? withoutForbidden(part) : `${MARK}${part.mark}${MARK}`,
  );
  return { html: texts.join(''), htmlLength: parts.reduce((sum, { length }) => sum + length, 0) };
}

/** A markdown note as it is shown, wherever its feed is. Plain data, because it comes from a worker. */
export interface Rendered {
  /** As of the contract, §3 "Title of a note"; empty if nothing shows. */
  readonly title: string;
  /** See `placedHtml`. */
  readonly html: string;
  /** About the length of the HTML with its addresses. */
  readonly htmlLength: number;
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

/**
 * The HTML with absolute addresses.
 * @param base what relative references are relative to, with a slash at its end; without one they get no address
 * @param page adapts it to a page: headings below its own, pictures that load late, boxes that scroll, links
 * between footnotes and to pictures
 */
export function placedHtml({ html }: Pick<Rendered, 'html'>, base: string | undefined, page?: Page): string {
  const outline: number[] = [];
  const parts = html.split(MARK);
  let placed = '';
  for (let n = 0; n < parts.length; n += 1)
    placed += n % 2 === 0 ? parts[n] : placedMark(parts[n]!, base, page, outline);
  return placed;
}

function placedMark(
  mark: string,
  base: string | undefined,
  page: Page | undefined,
  outline: number[],
): string {
  const value = mark.slice(1);
  switch (mark[0]) {
    case '<':
      return placedTag(value as TagName, page);
    case '#':
      return headingTag(Number(value), page, outline);
    case '[':
      return attribute('href', addressOf(value, base));
    case '!':
      return picture(addressOf(value.slice(PICTURE.length), base), base, page);
    case '|':
      return imageStart(addressOf(value.slice(PICTURE.length), base), page);
    case '^':
      return footnoteLink(value, page);
    case ':':
      return page ? `<li${attribute('id', `fn-${footnoteName(value, page)}`)}` : '<li';
    default:
      return page ? backLinks(value, page) : '';
  }
}

/**
 * The HTML of a picture note. Without an address its picture is not loaded.
 * @param base what the addresses of the feed's files begin with
 */
export function pictureHtml(
  address: string | undefined,
  { alt, name }: Pick<NoteMeta, 'alt' | 'name'>,
  base: string | undefined,
  page: Page | undefined,
): string {
  const start = address === undefined ? placedTag('noPicture', page) : picture(address, base, page);
  const end = address === undefined ? ' />' : placedTag('linkedPictureEnd', page);
  // In feeds, the file name stands in for a missing alternative text.
  const words = alt || (page ? undefined : name);
  return `<p>${start}${words ? attribute('alt', words) : placedTag('noAlt', page)}${end}</p>`;
}

/** The absolute address of the first picture that has one; undefined if there is none. */
export function firstPicture(rendered: Pick<Rendered, 'html'>, base: string): string | undefined {
  for (const reference of pictureReferences(rendered)) {
    const address = addressOf(reference, base);
    if (/^https?:/.test(address)) return address;
  }
  return undefined;
}

/** The references of the pictures that may be loaded, in their order. */
export function pictureReferences({ html }: Pick<Rendered, 'html'>): readonly string[] {
  const [, ...rests] = html.split(PICTURE);
  return rests.map((rest) => rest.slice(0, rest.indexOf(MARK)));
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

function placedTag(name: TagName, page: Page | undefined): string {
  return page ? TAGS[name].page : TAGS[name].feed;
}

function picture(address: string | undefined, base: string | undefined, page: Page | undefined): string {
  const image = imageStart(address, page);
  if (page === undefined) return image;
  const isOfFeed = address === undefined || (base !== undefined && address.startsWith(base));
  return `<a class="picture"${isOfFeed ? '' : LEAVING}${attribute('href', address)}>${image}`;
}

function imageStart(address: string | undefined, page: Page | undefined): string {
  const source = attribute('src', address);
  if (page === undefined) return `<img${source}`;
  const size = address === undefined ? undefined : page.sizes.get(address);
  const place = size === undefined ? '' : ` width="${size.width}" height="${size.height}"`;
  return `<img${source}${place}${LATE}`;
}

/** Feeds have numbers without links, because readers show many notes in one document. */
function footnoteLink(value: string, page: Page | undefined): string {
  const [footnote = '', reference] = value.split(' ');
  if (page === undefined) return `<sup>${footnote}</sup>`;
  const name = footnoteName(footnote, page);
  const id = attribute('id', `ref-${name}-${reference}`);
  return `<sup><a${id}${fragment(`fn-${name}`)} role="doc-noteref">${footnote}</a></sup>`;
}

function backLinks(value: string, page: Page): string {
  const [footnote = '', count] = value.split(' ');
  const name = footnoteName(footnote, page);
  return Array.from({ length: Number(count) }, (_, n) => backLink(name, footnote, n + 1)).join('');
}

function backLink(name: string, footnote: string, reference: number): string {
  const label = reference === 1 ? footnote : `${footnote}-${reference}`;
  const address = fragment(`ref-${name}-${reference}`);
  return ` <a${address} role="doc-backlink" aria-label="Back to reference ${label}">↩</a>`;
}

function footnoteName(footnote: string, { id = '' }: Page): string {
  return `${id}-${footnote}`;
}

function fragment(id: string): string {
  return attribute('href', `#${encodeURIComponent(id)}`);
}

function attribute(name: string, value: string | undefined): string {
  return value === undefined ? '' : ` ${name}="${escapeAttribute(value)}"`;
}

/** An absolute reference stays as written. A relative one stays so if the base is not a valid URL, because a client made up its host. */
export function addressOf(reference: string, base: string): string;
export function addressOf(reference: string, base: string | undefined): string | undefined;
export function addressOf(reference: string, base: string | undefined): string | undefined {
  if (isAbsolute(reference)) return reference;
  return base === undefined ? undefined : (URL.parse(reference, base)?.href ?? reference);
}

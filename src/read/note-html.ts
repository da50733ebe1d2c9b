import type { MarkedToken, Token, Tokens } from 'marked';
import { cutAtWord } from '../feeds/text.ts';
import { type CpuLimit, CpuLimitReached } from './cpu-limit.ts';
import type { FootnoteDefinition, FootnoteReference } from './footnotes.ts';
import {
  addCharacters,
  decodeReferences,
  inlineText,
  parseMarkdown,
  preparedText,
} from './markdown-parser.ts';
import { escapeHtml, escapeMarkup, withoutForbidden } from './markup.ts';
import {
  BackLinks,
  exactText,
  footnoteItem,
  footnoteReference,
  heading,
  htmlOf,
  image,
  isAbsolute,
  link,
  type Part,
  REFERENCE_LENGTH,
  type Rendered,
  shownText,
  tag,
} from './note-text.ts';
import { firstTitle, titleOf, titlesOnLoop } from './note-title.ts';
import { isPicture, picturePlaces } from './picture-places.ts';

/** The most parts of a note, because the event loop places those of a preview. A heading makes four, a cell up to three. */
const MAX_PARTS = 60_000;
/** Where the title of a text that is not rendered is looked for, in UTF-16 units. */
const MAX_TITLE_TEXT = 4_096;
/** Nested elements; libxml2 gives up at 256. */
const MAX_DEPTH = 100;
/** Longest excerpt of a note, in characters. */
const EXCERPT_LENGTH = 500;

const LINK_SCHEMES = ['http:', 'https:', 'mailto:'];
const PICTURE_SCHEMES = ['http:', 'https:'];
/** The first word of a fenced block's info string if it can be the name of a language. */
const LANGUAGE = /^\s*([a-z0-9+#-]{1,20})(?=\s|$)/;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** A reference such as `http:x` is relative only to a base of its own scheme. */
const BASES = ['http://base.invalid/', 'https://base.invalid/'];

/**
 * The note as HTML: GitHub's markdown, raw HTML as text, only harmless elements, no characters that XML forbids. A note that
 * nests too deep or grows too large is its text in a `<pre>`.
 *
 * @returns undefined if it takes longer than the limit; a few inputs, up to minutes longer
 */
export function renderNote(markdown: Uint8Array, limit: CpuLimit): Rendered | undefined {
  let title: string | undefined;
  try {
    const prepared = preparedText(markdown);
    const blocks = parseMarkdown(prepared, limit);
    title = titleOf(blocks);
    const { parts, text, pictures } = new NoteHtml(blocks, RIGHT_TO_LEFT.test(prepared));
    return {
      title,
      ...htmlOf(parts),
      excerpt: excerpt(text),
      pictures: pictures.size > 0 ? picturePlaces(blocks, pictures, exactText(markdown)) : [],
    };
  } catch (cause) {
    return cause instanceof CpuLimitReached ? undefined : unrendered(markdown, title);
  }
}

/**
 * The note as people read it, without marks: what `renderNote` shows, with alternative texts and footnotes, and white space
 * between blocks and between cells.
 *
 * @returns undefined if it takes longer than the limit; a few inputs, up to minutes longer
 */
export function plainText(markdown: Uint8Array, limit: CpuLimit): string | undefined {
  try {
    return withoutForbidden(
      new NoteHtml(parseMarkdown(preparedText(markdown), limit), false).textWithFootnotes,
    );
  } catch (cause) {
    return cause instanceof CpuLimitReached ? undefined : withoutForbidden(shownText(markdown));
  }
}

/** A note that cannot be rendered: its text as written. */
export function unrendered(markdown: Uint8Array, title = titlesOnLoop([markdown])[0]): Rendered {
  const text = shownText(markdown);
  return {
    title: title ?? firstTitle(text.trimStart().slice(0, MAX_TITLE_TEXT).split('\n')),
    ...htmlOf([tag('pre'), `${escapeHtml(text)}</pre>`]),
    excerpt: excerpt(text),
    pictures: [],
  };
}

/** The beginning of a text on one line, at most 500 characters. */
function excerpt(text: string): string {
  const beginning = withoutForbidden(text.slice(0, 3 * EXCERPT_LENGTH));
  return cutAtWord(beginning.replace(/\s{2,}|[^\S ]/g, ' ').trim(), EXCERPT_LENGTH);
}

type Direction = 'ltr' | 'rtl';

interface OpenBlock {
  /** Where its direction is written if it is not that of the block around it. */
  readonly place: number;
  /** That of its first letter; undefined as long as it has none. */
  direction: Direction | undefined;
}

/** Writes tokens as HTML. All tags are written here, and all texts and values are escaped here. */
class NoteHtml {
  readonly parts: Part[] = [''];
  /** The text of what is written, without footnotes. */
  readonly text: string;
  readonly textWithFootnotes: string;
  /** The links and images that show a picture of the feed. */
  readonly pictures = new Set<Token>();
  #text = '';
  #depth = 0;
  #isInLink = false;
  readonly #footnotes = new Map<FootnoteDefinition, BackLinks>();
  /** The blocks around what is written, and the note around all; none if all of it is written from left to right. */
  readonly #open: OpenBlock[];

  /** @param hasDirections whether a part of the note is written from right to left */
  constructor(blocks: readonly Token[], hasDirections: boolean) {
    this.#open = hasDirections ? [{ place: -1, direction: undefined }] : [];
    this.#write(blocks);
    this.text = this.#text;
    if (this.#footnotes.size > 0) this.#writeFootnotes();
    this.textWithFootnotes = this.#text;
  }

  #write(tokens: readonly Token[]): void {
    for (const token of tokens) this.#token(token as MarkedToken | FootnoteReference);
  }

  #token(token: MarkedToken | FootnoteReference): void {
    switch (token.type) {
      case 'text':
        if (token.tokens) this.#write(token.tokens);
        else this.#emitText(decodeReferences(token.text));
        break;
      case 'escape':
        this.#emitText(token.text);
        break;
      case 'html':
        if (token.block) this.#block('<p', '</p>', token.text);
        else this.#emitText(token.text);
        break;
      case 'strong':
      case 'em':
      case 'del':
        this.#element(token.type, token.tokens);
        break;
      case 'codespan':
        this.#element('code', token.text);
        break;
      case 'br':
        this.#emit('<br />', '\n');
        break;
      case 'link':
        this.#link(token);
        break;
      case 'image':
        this.#picture(token);
        break;
      case 'checkbox':
        this.#emitText(token.checked ? '☑ ' : '☐ ');
        break;
      case 'footnote-reference':
        this.#footnoteReference(token);
        break;
      case 'paragraph':
        this.#block('<p', '</p>', token.tokens);
        break;
      case 'heading':
        this.#block(heading(token.depth), heading(-token.depth), token.tokens);
        break;
      case 'code': {
        const [, language] = LANGUAGE.exec(token.lang?.toLowerCase() ?? '') ?? [];
        this.parts.push(tag('pre'));
        this.#text += '\n';
        this.#element(
          'code',
          token.text.replace(/[^\n]$/, '$&\n'),
          attribute('class', language && `language-${language}`),
        );
        this.#emit('</pre>\n', '\n');
        break;
      }
      case 'blockquote':
        this.#block('<blockquote', '</blockquote>', token.tokens, '\n');
        break;
      case 'list': {
        const start = token.ordered && token.start !== 1 ? String(token.start) : undefined;
        const name = token.ordered ? 'ol' : 'ul';
        this.#block(`<${name}${attribute('start', start)}`, `</${name}>`, token.items, '\n');
        break;
      }
      case 'list_item':
        this.#block(token.task ? tag('task') : '<li', '</li>', token.tokens);
        break;
      case 'table':
        this.#table(token);
        break;
      case 'hr':
        this.#emit('<hr />\n');
    }
  }

  /** @param text what it adds to the plain text */
  #emit(html: string, text = ''): void {
    if (this.parts.length > MAX_PARTS) throw new RangeError('the note has too many parts');
    const last = this.parts.length - 1;
    const part = this.parts[last];
    if (typeof part === 'string') this.parts[last] = part + html;
    else this.parts.push(html);
    this.#text += text;
  }

  #emitPart(part: Part): void {
    if (typeof part === 'string') this.#emit(part);
    else this.parts.push(part);
  }

  #emitText(text: string): void {
    const open = this.#open.at(-1);
    if (open && open.direction === undefined) this.#direct(text);
    this.#emit(escapeMarkup(text), text);
  }

  #element(name: string, content: string | readonly Token[], attributes = ''): void {
    this.#emit(`<${name}${attributes}>`);
    this.#children(content);
    this.#emit(`</${name}>`);
  }

  /**
   * @param begin the start tag of the block, without `>`
   * @param end the end tag of the block
   */
  #block(begin: Part, end: Part, content: string | readonly Token[], start = ''): void {
    this.#emitPart(begin);
    this.#openBlock();
    this.#emit(`>${start}`);
    this.#children(content);
    this.#closeBlock();
    this.#emitPart(end);
    this.#emit('\n', '\n');
  }

  /** In the start tag of a block. */
  #openBlock(): void {
    this.#text += '\n';
    if (this.#open.length === 0) return;
    this.#open.push({ place: this.parts.length, direction: undefined });
    this.parts.push(tag('sameDirection'));
  }

  #closeBlock(): void {
    this.#open.pop();
  }

  /** Gives the open blocks without a letter the direction of the first letter in a text. */
  #direct(text: string): void {
    const [letter] = /\p{L}/u.exec(text) ?? [];
    if (letter === undefined) return;
    const direction = RIGHT_TO_LEFT.test(letter) ? 'rtl' : 'ltr';
    const first = this.#open.findIndex((block) => block.direction === undefined);
    const { place } = this.#open[first]!;
    // The page gives the note the direction of its first letter.
    if (first > 0 && this.#open[first - 1]!.direction !== direction) this.parts[place] = tag(direction);
    for (const block of this.#open.slice(first)) block.direction = direction;
  }

  /** @param content tokens, or text as it is */
  #children(content: string | readonly Token[]): void {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new RangeError('the note is nested too deep');
    if (typeof content === 'string') this.#emitText(content);
    else this.#write(content);
    this.#depth -= 1;
  }

  #table({ header, rows }: Tokens.Table): void {
    this.parts.push(tag('table'));
    this.#openBlock();
    this.parts.push(tag('tableStart'));
    this.#emit('\n<thead>\n');
    this.#row(header);
    this.#emit('</thead>\n');
    if (rows.length > 0) this.#emit('<tbody>');
    for (const row of rows) this.#row(row);
    if (rows.length > 0) this.#emit('</tbody>');
    this.#closeBlock();
    this.parts.push(tag('tableEnd'));
    this.#emit('\n');
  }

  #row(cells: readonly Tokens.TableCell[]): void {
    this.#emit('<tr>\n');
    for (const { header, align, tokens } of cells) {
      const name = header ? 'th' : 'td';
      this.#emit(`<${name}`);
      this.#block(align ? tag(align) : '', `</${name}>`, tokens);
    }
    this.#emit('</tr>\n');
  }

  #link(token: Tokens.Link): void {
    const reference = this.#reference(token, LINK_SCHEMES);
    if (reference === undefined) this.#emit('<a');
    else if (isAbsolute(reference)) {
      this.parts.push(tag('link'));
      this.#emit(attribute('href', reference));
    } else this.parts.push(tag('link'), link(reference));
    this.#emit(`${titleAttribute(token)}>`);
    this.#isInLink = true;
    this.#children(token.autolink ? token.text : token.tokens);
    this.#isInLink = false;
    this.#emit('</a>');
  }

  #picture(token: Tokens.Image): void {
    const alt = inlineText(token.tokens);
    const reference = this.#reference(token, PICTURE_SCHEMES);
    this.parts.push(reference === undefined ? tag('noPicture') : image(reference, this.#isInLink));
    if (alt.trim() === '') this.parts.push(tag('noAlt'));
    else this.#emit(attribute('alt', alt), ` ${alt} `);
    this.#emit(titleAttribute(token));
    this.#emitPart(reference === undefined || this.#isInLink ? ' />' : tag('linkedPictureEnd'));
  }

  #footnoteReference({ definition }: FootnoteReference): void {
    addCharacters(REFERENCE_LENGTH);
    const known = this.#footnotes.get(definition);
    const backLinks = known ?? new BackLinks(this.#footnotes.size + 1);
    this.#footnotes.set(definition, backLinks);
    const { footnote } = backLinks;
    // HTML allows no link in a link.
    if (this.#isInLink) this.#emit(`<sup>${footnote}</sup>`);
    else {
      backLinks.count += 1;
      this.parts.push(footnoteReference(footnote, backLinks.count));
    }
  }

  /** In the order of their first references; a footnote may refer to others. */
  #writeFootnotes(): void {
    this.parts.push(tag('footnotes'));
    for (const [{ blocks }, backLinks] of this.#footnotes) {
      const last = blocks.findLastIndex(({ type }) => type !== 'space');
      const end = blocks[last]?.type === 'paragraph' ? (blocks[last] as Tokens.Paragraph) : undefined;
      this.parts.push(footnoteItem(backLinks.footnote));
      this.#openBlock();
      this.#emit('>');
      this.#children(end ? blocks.slice(0, last) : blocks);
      if (end) {
        this.#emit('<p>', '\n');
        this.#children(end.tokens);
      }
      this.parts.push(backLinks);
      this.#emit(end ? '</p></li>\n' : '</li>\n');
      this.#closeBlock();
    }
    this.parts.push(tag('footnotesEnd'));
  }

  /** The percent-encoded address, as written if it is absolute; undefined unless its scheme is one of these. */
  #reference(token: Tokens.Link | Tokens.Image, schemes: readonly string[]): string | undefined {
    const { href, title, raw } = token;
    // A definition is in the note once, but in the HTML at every use.
    addCharacters(Math.max(0, href.length + (title?.length ?? 0) - raw.length));
    const written = withoutForbidden('autolink' in token && token.autolink ? href : decodeReferences(href));
    const reference = encodeURI(written).replaceAll('%25', '%');
    const isAllowed = (base?: string) => schemes.includes(URL.parse(reference, base)?.protocol ?? '');
    if (isAbsolute(reference)) return isAllowed() ? reference : undefined;
    if (!BASES.every(isAllowed)) return undefined;
    addCharacters(REFERENCE_LENGTH);
    if (isPicture(reference)) this.pictures.add(token);
    return reference;
  }
}

function titleAttribute({ title }: Tokens.Link | Tokens.Image): string {
  return attribute('title', title ? decodeReferences(title) : undefined);
}

/** Empty without a value. */
function attribute(name: string, value: string | null | undefined): string {
  return value == null ? '' : ` ${name}="${escapeMarkup(value).replaceAll('"', '&quot;')}"`;
}

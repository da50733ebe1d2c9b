import type { MarkedToken, Token, Tokens } from 'marked';
import { cutAtWord } from '../feeds/text.ts';
import { type CpuLimit, CpuLimitReached } from './cpu-limit.ts';
import {
  addCharacters,
  decodeReferences,
  parseMarkdown,
  plainText,
  preparedText,
} from './markdown-parser.ts';
import { escapeHtml, escapeMarkup, withoutForbidden } from './markup.ts';
import {
  exactText,
  isAbsolute,
  type Part,
  REFERENCE_LENGTH,
  type Rendered,
  shownText,
  TAGS,
} from './note-text.ts';
import { firstTitle, titleOf, titlesAtOnce } from './note-title.ts';
import { isPicture, picturePlaces } from './picture-places.ts';

/** Nested elements; libxml2 gives up at 256. */
const MAX_DEPTH = 100;
/** Longest excerpt of a note, in characters. */
const EXCERPT_LENGTH = 500;

const LINK_SCHEMES = ['http:', 'https:', 'mailto:'];
const PICTURE_SCHEMES = ['http:', 'https:'];
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
    const blocks = parseMarkdown(preparedText(markdown), limit);
    title = titleOf(blocks);
    const { parts, text, pictures } = new NoteHtml(blocks);
    return {
      title,
      html: parts.map((part) => (typeof part === 'string' ? withoutForbidden(part) : part)),
      excerpt: excerpt(text),
      pictures: pictures.size > 0 ? picturePlaces(blocks, pictures, exactText(markdown)) : [],
    };
  } catch (cause) {
    return cause instanceof CpuLimitReached ? undefined : unrendered(markdown, title);
  }
}

/** A note that cannot be rendered: its text as written. */
export function unrendered(markdown: Uint8Array, title = titlesAtOnce([markdown])[0]): Rendered {
  const text = shownText(markdown);
  return {
    title: title ?? firstTitle(text.split('\n')),
    html: [TAGS.pre, `${escapeHtml(text)}</pre>`],
    excerpt: excerpt(text),
    pictures: [],
  };
}

/** The beginning of a text on one line, at most 500 characters. */
function excerpt(text: string): string {
  const beginning = withoutForbidden(text.slice(0, 3 * EXCERPT_LENGTH));
  return cutAtWord(beginning.replace(/\s{2,}|[^\S ]/g, ' ').trim(), EXCERPT_LENGTH);
}

/** Writes tokens as HTML. All tags are written here, and all texts and values are escaped here. */
class NoteHtml {
  readonly parts: Part[] = [''];
  /** The text of what is written. */
  text = '';
  /** The links and images that show a picture of the feed. */
  readonly pictures = new Set<Token>();
  #depth = 0;

  constructor(blocks: readonly Token[]) {
    this.#write(blocks);
  }

  #write(tokens: readonly Token[]): void {
    for (const token of tokens) this.#token(token as MarkedToken);
  }

  #token(token: MarkedToken): void {
    switch (token.type) {
      case 'text':
        if (token.tokens) this.#write(token.tokens);
        else this.#emitText(decodeReferences(token.text));
        break;
      case 'escape':
        this.#emitText(token.text);
        break;
      case 'html':
        if (token.block) this.#block('p', token.text);
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
      case 'paragraph':
        this.#block('p', token.tokens);
        break;
      case 'heading':
        this.parts.push(token.depth);
        this.#children(token.tokens);
        this.parts.push(-token.depth);
        this.#emit('\n', '\n');
        break;
      case 'code':
        this.parts.push(TAGS.pre);
        this.#element('code', token.text.replace(/[^\n]$/, '$&\n'));
        this.#emit('</pre>\n', '\n');
        break;
      case 'blockquote':
        this.#block('blockquote', token.tokens, '', '\n');
        break;
      case 'list': {
        const start = token.ordered && token.start !== 1 ? String(token.start) : undefined;
        this.#block(token.ordered ? 'ol' : 'ul', token.items, attribute('start', start), '\n');
        break;
      }
      case 'list_item':
        if (token.task) this.parts.push(TAGS.task);
        else this.#emit('<li>');
        this.#children(token.tokens);
        this.#emit('</li>\n', '\n');
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
    const last = this.parts.length - 1;
    const part = this.parts[last];
    if (typeof part === 'string') this.parts[last] = part + html;
    else this.parts.push(html);
    this.text += text;
  }

  #emitText(text: string): void {
    this.#emit(escapeMarkup(text), text);
  }

  #element(name: string, content: string | readonly Token[], attributes = '', start = ''): void {
    this.#emit(`<${name}${attributes}>${start}`);
    this.#children(content);
    this.#emit(`</${name}>`);
  }

  #block(name: string, content: string | readonly Token[], attributes = '', start = ''): void {
    this.#element(name, content, attributes, start);
    this.#emit('\n', '\n');
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
    this.parts.push(TAGS.table);
    this.#emit('\n<thead>\n');
    this.#row(header);
    this.#emit('</thead>\n');
    if (rows.length > 0) this.#emit('<tbody>');
    for (const row of rows) this.#row(row);
    if (rows.length > 0) this.#emit('</tbody>');
    this.parts.push(TAGS.tableEnd);
    this.#emit('\n');
  }

  #row(cells: readonly Tokens.TableCell[]): void {
    this.#emit('<tr>\n');
    for (const { header, align, tokens } of cells)
      this.#block(header ? 'th' : 'td', tokens, attribute('align', align));
    this.#emit('</tr>\n');
  }

  #link(link: Tokens.Link): void {
    const reference = this.#reference(link, LINK_SCHEMES);
    if (reference === undefined) this.#emit('<a');
    else if (isAbsolute(reference)) {
      this.parts.push(TAGS.link);
      this.#emit(attribute('href', reference));
    } else this.parts.push(TAGS.link, { link: reference });
    this.#emit(`${titleAttribute(link)}>`);
    this.#children(link.autolink ? link.text : link.tokens);
    this.#emit('</a>');
  }

  #picture(image: Tokens.Image): void {
    const alt = plainText(image.tokens);
    this.#emit('<img', alt);
    this.parts.push({ picture: this.#reference(image, PICTURE_SCHEMES) });
    this.#emit(`${attribute('alt', alt)}${titleAttribute(image)} />`);
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

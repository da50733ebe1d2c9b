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
  Tag,
} from './note-text.ts';
import { firstLine, titleOf, titlesAtOnce } from './note-title.ts';
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
 * The note as HTML: GitHub's markdown, raw HTML as text, only harmless elements, absolute addresses, no characters that
 * XML forbids. A note that nests too deep or grows too large is its text in a `<pre>`.
 *
 * @returns undefined if it takes longer than the limit; a few inputs, up to minutes longer
 */
export function renderNote(markdown: Uint8Array, limit: CpuLimit): Rendered | undefined {
  const text = preparedText(markdown);
  let title: string | undefined;
  try {
    const blocks = parseMarkdown(text, limit);
    title = titleOf(blocks);
    const { html, plain, pictures } = new NoteHtml().write(blocks);
    return {
      title,
      html,
      excerpt: excerpt(plain),
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
    title: title ?? firstLine(text),
    html: [Tag.pre, `${escapeHtml(text)}</pre>`],
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
  readonly #parts: Part[] = [];
  /** The links and images that show a picture of the feed. */
  readonly #pictures = new Set<Token>();
  /** What is written behind the last part. */
  #html = '';
  /** The text of what is written so far. */
  #text = '';
  #depth = 0;

  write(blocks: readonly Token[]): {
    readonly html: readonly Part[];
    readonly plain: string;
    readonly pictures: ReadonlySet<Token>;
  } {
    this.#write(blocks);
    this.#part(this.#html);
    return { html: this.#parts, plain: this.#text, pictures: this.#pictures };
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
        if (token.block) this.#block('p', [asLiteral(token.text)]);
        else this.#emitText(token.text);
        break;
      case 'strong':
      case 'em':
      case 'del':
        this.#element(token.type, token.tokens);
        break;
      case 'codespan':
        this.#element('code', [asLiteral(token.text)]);
        break;
      case 'br':
        this.#text += '\n';
        this.#html += '<br />';
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
        this.#tag(token.depth);
        this.#children(token.tokens);
        this.#tag(-token.depth);
        this.#endBlock('\n');
        break;
      case 'code':
        this.#tag(Tag.pre);
        this.#element('code', [asLiteral(withLineEnd(token.text))]);
        this.#endBlock('</pre>\n');
        break;
      case 'blockquote':
        this.#block('blockquote', token.tokens, '', '\n');
        break;
      case 'list':
        this.#list(token);
        break;
      case 'list_item':
        if (token.task) this.#tag(Tag.task);
        else this.#html += '<li>';
        this.#children(token.tokens);
        this.#endBlock('</li>\n');
        break;
      case 'table':
        this.#table(token);
        break;
      case 'hr':
        this.#html += '<hr />\n';
    }
  }

  #part(part: Part): void {
    this.#parts.push(typeof part === 'string' ? withoutForbidden(part) : part);
  }

  #tag(part: Exclude<Part, string>): void {
    if (this.#html !== '') this.#part(this.#html);
    this.#html = '';
    this.#part(part);
  }

  #emitText(text: string): void {
    this.#text += text;
    this.#html += escapeMarkup(text);
  }

  #element(name: string, tokens: readonly Token[], attributes = '', start = ''): void {
    this.#html += `<${name}${attributes}>${start}`;
    this.#children(tokens);
    this.#html += `</${name}>`;
  }

  #block(name: string, tokens: readonly Token[], attributes = '', start = ''): void {
    this.#element(name, tokens, attributes, start);
    this.#endBlock('\n');
  }

  #endBlock(end: string): void {
    this.#text += '\n';
    this.#html += end;
  }

  #children(tokens: readonly Token[]): void {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new RangeError('the note is nested too deep');
    this.#write(tokens);
    this.#depth -= 1;
  }

  #list({ ordered, start, items }: Tokens.List): void {
    const attributes = ordered && start !== 1 ? attribute('start', String(start)) : '';
    this.#block(ordered ? 'ol' : 'ul', items, attributes, '\n');
  }

  #table({ header, rows }: Tokens.Table): void {
    this.#tag(Tag.table);
    this.#html += '\n<thead>\n';
    this.#row(header);
    this.#html += '</thead>\n';
    if (rows.length > 0) this.#html += '<tbody>';
    for (const row of rows) this.#row(row);
    if (rows.length > 0) this.#html += '</tbody>';
    this.#tag(Tag.tableEnd);
    this.#html += '\n';
  }

  #row(cells: readonly Tokens.TableCell[]): void {
    this.#html += '<tr>\n';
    for (const { header, align, tokens } of cells)
      this.#block(header ? 'th' : 'td', tokens, attribute('align', align));
    this.#html += '</tr>\n';
  }

  #link(link: Tokens.Link): void {
    const reference = this.#reference(link, LINK_SCHEMES);
    if (reference === undefined) this.#html += '<a';
    else {
      this.#tag(Tag.link);
      if (isAbsolute(reference)) this.#html += attribute('href', reference);
      else this.#tag({ link: reference });
    }
    this.#html += `${titleAttribute(link)}>`;
    this.#children(link.autolink ? [asLiteral(link.text)] : link.tokens);
    this.#html += '</a>';
  }

  #picture(image: Tokens.Image): void {
    const alt = plainText(image.tokens);
    this.#text += alt;
    this.#html += '<img';
    this.#tag({ picture: this.#reference(image, PICTURE_SCHEMES) });
    this.#html += `${attribute('alt', alt)}${titleAttribute(image)} />`;
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
    if (isPicture(reference)) this.#pictures.add(token);
    return reference;
  }
}

function withLineEnd(code: string): string {
  return code === '' || code.endsWith('\n') ? code : `${code}\n`;
}

/** Text that is not decoded. */
function asLiteral(text: string): Tokens.Escape {
  return { type: 'escape', raw: text, text };
}

function titleAttribute({ title }: Tokens.Link | Tokens.Image): string {
  return attribute('title', title ? decodeReferences(title) : undefined);
}

/** Empty without a value. */
function attribute(name: string, value: string | null | undefined): string {
  return value == null ? '' : ` ${name}="${escapeMarkup(value).replaceAll('"', '&quot;')}"`;
}

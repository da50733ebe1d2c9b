import type { MarkedToken, Token, Tokens } from 'marked';
import { decodeString } from 'micromark-util-decode-string';
import { CHARACTER_REFERENCE } from '../feeds/inline-text.ts';
import { type CpuLimit, CpuLimitReached } from './cpu-limit.ts';
import { addCharacters, parseMarkdown } from './markdown-parser.ts';
import { escapeMarkup, withoutForbidden } from './markup.ts';
import { excerpt, REFERENCE_LENGTH, type Rendered, unrendered } from './note-text.ts';
import type { PreparedText } from './prepared-text.ts';

/** Nested elements; libxml2 gives up at 256. */
const MAX_DEPTH = 100;

const LINK_SCHEMES = ['http:', 'https:', 'mailto:'];
const PICTURE_SCHEMES = ['http:', 'https:'];
/** A reference such as `http:x` is relative only to a base of its own scheme. */
const BASES = ['http://base.invalid/', 'https://base.invalid/'];

const CHARACTER_REFERENCES = new RegExp(CHARACTER_REFERENCE, 'gi');

type BlockToken =
  | Tokens.Paragraph
  | Tokens.Heading
  | Tokens.Code
  | Tokens.Blockquote
  | Tokens.List
  | Tokens.ListItem
  | Tokens.Table
  | Tokens.Hr
  | Tokens.Space
  | Tokens.Def;

/**
 * The note as HTML: GitHub's markdown, raw HTML as text, only harmless elements, absolute addresses, no characters that
 * XML forbids. A note that nests too deep or grows too large is its text in a `<pre>`.
 *
 * @returns undefined if it takes longer than the limit; a few inputs, up to minutes longer
 */
export function renderNote(text: PreparedText, limit: CpuLimit): Rendered | undefined {
  try {
    return new NoteHtml(text).render(parseMarkdown(text, limit));
  } catch (cause) {
    return cause instanceof CpuLimitReached ? undefined : unrendered(text.markdown);
  }
}

/** Writes tokens as HTML. All tags are written here, and all texts and values are escaped here. */
class NoteHtml {
  readonly #source: PreparedText;
  /** What is written up to the last relative reference. */
  readonly #pieces: string[] = [];
  readonly #references: string[] = [];
  readonly #pictures = new Set<number>();
  #depth = 0;
  #html = '';
  /** The text of what is written so far. */
  #text = '';

  constructor(source: PreparedText) {
    this.#source = source;
  }

  render(tokens: readonly Token[]): Rendered {
    this.#write(tokens);
    return {
      html: [...this.#pieces, this.#html].map(withoutForbidden),
      references: this.#references,
      excerpt: excerpt(this.#text),
      pictures: [...this.#pictures].sort((a, b) => a - b),
    };
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
      default:
        this.#blockToken(token);
    }
  }

  #blockToken(token: BlockToken): void {
    switch (token.type) {
      case 'paragraph':
        this.#block('p', token.tokens);
        break;
      case 'heading':
        this.#block(`h${token.depth}`, token.tokens);
        break;
      case 'code':
        this.#html += '<pre>';
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
        this.#block('li', token.tokens);
        break;
      case 'table':
        this.#table(token);
        break;
      case 'hr':
        this.#html += '<hr />\n';
    }
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
    this.#html += '<table>\n<thead>\n';
    this.#row(header);
    this.#html += '</thead>\n';
    if (rows.length > 0) this.#html += '<tbody>';
    for (const row of rows) this.#row(row);
    this.#html += rows.length > 0 ? '</tbody></table>\n' : '</table>\n';
  }

  #row(cells: readonly Tokens.TableCell[]): void {
    this.#html += '<tr>\n';
    for (const { header, align, tokens } of cells)
      this.#block(header ? 'th' : 'td', tokens, attribute('align', align));
    this.#html += '</tr>\n';
  }

  #link(link: Tokens.Link): void {
    this.#html += '<a';
    this.#address('href', link, LINK_SCHEMES);
    this.#html += `${titleOf(link)}>`;
    this.#children(link.autolink ? [asLiteral(link.text)] : link.tokens);
    this.#html += '</a>';
  }

  #picture(image: Tokens.Image): void {
    const alt = textOf(image.tokens);
    this.#text += alt;
    this.#html += '<img';
    this.#address('src', image, PICTURE_SCHEMES);
    this.#html += `${attribute('alt', alt)}${titleOf(image)} />`;
  }

  /** Writes the address, unless its scheme is not one of these. An absolute one stays as written. */
  #address(name: string, token: Tokens.Link | Tokens.Image, schemes: readonly string[]): void {
    const { href, title, raw } = token;
    // A definition is in the note once, but in the HTML at every use.
    addCharacters(Math.max(0, href.length + (title?.length ?? 0) - raw.length));
    const written = withoutForbidden('autolink' in token && token.autolink ? href : decodeReferences(href));
    const reference = encodeURI(written).replaceAll('%25', '%');
    const isAllowed = (base?: string) => schemes.includes(URL.parse(reference, base)?.protocol ?? '');
    if (/^(?:https?:\/\/|mailto:)/i.test(reference)) {
      if (isAllowed()) this.#html += attribute(name, reference);
    } else if (BASES.every(isAllowed)) this.#relativeAddress(name, href, reference);
  }

  #relativeAddress(name: string, href: string, reference: string): void {
    addCharacters(REFERENCE_LENGTH);
    this.#pieces.push(`${this.#html} ${name}="`);
    this.#references.push(reference);
    this.#html = '"';
    const picture = this.#source.pictureAt(href, reference);
    if (picture !== undefined) this.#pictures.add(picture);
  }
}

function textOf(tokens: readonly Token[]): string {
  let text = '';
  for (const token of tokens as readonly MarkedToken[]) {
    if (token.type === 'br') text += '\n';
    else if ('tokens' in token && token.tokens) text += textOf(token.tokens);
    else if ('text' in token) text += token.type === 'text' ? decodeReferences(token.text) : token.text;
  }
  return text;
}

function withLineEnd(code: string): string {
  return code === '' || code.endsWith('\n') ? code : `${code}\n`;
}

/** Text that is not decoded. */
function asLiteral(text: string): Tokens.Escape {
  return { type: 'escape', raw: text, text };
}

function titleOf({ title }: Tokens.Link | Tokens.Image): string {
  return attribute('title', title ? decodeReferences(title) : undefined);
}

/** Empty without a value. */
function attribute(name: string, value: string | null | undefined): string {
  return value == null ? '' : ` ${name}="${escapeMarkup(value).replaceAll('"', '&quot;')}"`;
}

function decodeReferences(text: string): string {
  return text.includes('&')
    ? text.replace(CHARACTER_REFERENCES, (reference) => decodeString(reference))
    : text;
}

import { Marked, type MarkedToken, type Token, type Tokens } from 'marked';
import { decodeString } from 'micromark-util-decode-string';
import { CHARACTER_REFERENCE } from '../feeds/inline-text.ts';
import { escapeMarkup, withoutForbidden } from './markup.ts';
import { exactText, excerpt, type Rendered, unrendered } from './note-text.ts';
import { PictureReferences } from './picture-references.ts';

/**
 * Limit of the characters that rendering adds. Three constructs amplify a note: short table rows are padded with cells, each
 * use of a link definition repeats its address, and relative addresses get the base. Without a limit 30 KB of markdown could
 * become gigabytes of HTML.
 */
const MAX_ADDED = 64 * 1024;
/** Characters of an empty table cell in HTML. */
const CELL = 10;
/** Nested elements; libxml2 gives up at 256. */
const MAX_DEPTH = 100;

const LINK_SCHEMES = ['http:', 'https:', 'mailto:'];
const PICTURE_SCHEMES = ['http:', 'https:'];

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

/** Characters added to the current note; a thread renders one at a time. */
let added = 0;

const markdownParser = new Marked({
  tokenizer: {
    table(source) {
      if (!/^.*\n {0,3}[|:-]/.test(source)) return undefined;
      const [, , delimiters = '', rows = ''] = this.rules.block.table.exec(source) ?? [];
      addCharacters(missingCells(delimiters, rows) * CELL);
      return false;
    },
  },
});

/**
 * The note as HTML: GitHub's markdown, raw HTML as text, only harmless elements, absolute addresses, no characters that
 * XML forbids. A note that nests too deep or grows too large is its text in a `<pre>`. Takes up to minutes on hostile
 * input: run it with a time limit.
 *
 * @param base of relative references: `<base url>/r/<read_id>/`, with the slash
 */
export function renderNote(markdown: Uint8Array, base: string): Rendered {
  added = 0;
  try {
    const references = new PictureReferences(exactText(markdown), base);
    const writer = new NoteHtml(references, base);
    const html = withoutForbidden(writer.write(markdownParser.lexer(references.marked)));
    return { html, excerpt: excerpt(writer.text), text: references.absoluteText() };
  } catch {
    return unrendered(markdown);
  }
}

/** Writes tokens as HTML. All tags are written here, and all texts and values are escaped here. */
class NoteHtml {
  readonly #references: PictureReferences;
  readonly #base: string;
  #depth = 0;
  /** The text of what is written so far. */
  text = '';

  constructor(references: PictureReferences, base: string) {
    this.#references = references;
    this.#base = base;
  }

  write(tokens: readonly Token[]): string {
    let html = '';
    for (const token of tokens) html += this.#token(token as MarkedToken);
    return html;
  }

  #token(token: MarkedToken): string {
    switch (token.type) {
      case 'text':
        return token.tokens ? this.write(token.tokens) : this.#emitText(decodeReferences(token.text));
      case 'escape':
        return this.#emitText(token.text);
      case 'html':
        return token.block
          ? this.#emitBlock(`<p>${this.#emitText(token.text)}</p>`)
          : this.#emitText(token.text);
      case 'strong':
      case 'em':
      case 'del':
        return this.#element(token.type, token.tokens);
      case 'codespan':
        return `<code>${this.#emitText(token.text)}</code>`;
      case 'br':
        this.text += '\n';
        return '<br />';
      case 'link':
        return this.#link(token);
      case 'image':
        return this.#picture(token);
      case 'checkbox':
        return this.#emitText(token.checked ? '☑ ' : '☐ ');
      default:
        return this.#block(token);
    }
  }

  #block(token: BlockToken): string {
    switch (token.type) {
      case 'paragraph':
        return this.#emitBlock(this.#element('p', token.tokens));
      case 'heading':
        return this.#emitBlock(this.#element(`h${token.depth}`, token.tokens));
      case 'code':
        return this.#emitBlock(`<pre><code>${this.#emitText(withLineEnd(token.text))}</code></pre>`);
      case 'blockquote':
        return this.#emitBlock(this.#element('blockquote', token.tokens, '', '\n'));
      case 'list':
        return this.#list(token);
      case 'list_item':
        return this.#emitBlock(this.#element('li', token.tokens));
      case 'table':
        return this.#table(token);
      case 'hr':
        return '<hr />\n';
      case 'space':
      case 'def':
        return '';
    }
  }

  #emitText(text: string): string {
    this.text += text;
    return escapeMarkup(text);
  }

  #emitBlock(html: string): string {
    this.text += '\n';
    return `${html}\n`;
  }

  #element(name: string, tokens: readonly Token[], attributes = '', start = ''): string {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new RangeError('the note is nested too deep');
    const html = `<${name}${attributes}>${start}${this.write(tokens)}</${name}>`;
    this.#depth -= 1;
    return html;
  }

  #list({ ordered, start, items }: Tokens.List): string {
    const attributes = ordered && start !== 1 ? attribute('start', String(start)) : '';
    return this.#emitBlock(this.#element(ordered ? 'ol' : 'ul', items, attributes, '\n'));
  }

  #table({ header, rows }: Tokens.Table): string {
    const head = `<thead>\n${this.#row(header)}</thead>\n`;
    const body = rows.length > 0 ? `<tbody>${rows.map((row) => this.#row(row)).join('')}</tbody>` : '';
    return `<table>\n${head}${body}</table>\n`;
  }

  #row(cells: readonly Tokens.TableCell[]): string {
    let html = '<tr>\n';
    for (const { header, align, tokens } of cells)
      html += this.#emitBlock(this.#element(header ? 'th' : 'td', tokens, attribute('align', align)));
    return `${html}</tr>\n`;
  }

  #link(link: Tokens.Link): string {
    const attributes = attribute('href', this.#address(link, LINK_SCHEMES)) + titleOf(link);
    return this.#element('a', link.autolink ? [asLiteral(link)] : link.tokens, attributes);
  }

  #picture(image: Tokens.Image): string {
    const alt = textOf(image.tokens);
    this.text += alt;
    const address = attribute('src', this.#address(image, PICTURE_SCHEMES));
    return `<img${address}${attribute('alt', alt)}${titleOf(image)} />`;
  }

  /** The absolute address; undefined if its scheme is not one of these. An absolute one stays as written. */
  #address(token: Tokens.Link | Tokens.Image, schemes: readonly string[]): string | undefined {
    const { href, title, raw } = token;
    // A definition is in the note once, but in the HTML at every use.
    addCharacters(Math.max(0, href.length + (title?.length ?? 0) - raw.length));
    const written = withoutForbidden('autolink' in token && token.autolink ? href : decodeReferences(href));
    const reference = encodeURI(written).replaceAll('%25', '%');
    const url = URL.parse(reference, this.#base);
    if (url === null || !schemes.includes(url.protocol)) return undefined;
    if (/^(?:https?:\/\/|mailto:)/i.test(reference)) return reference;
    addCharacters(Math.max(0, url.href.length - reference.length));
    this.#references.recordUse(href, reference, url.href);
    return url.href;
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

/** The text of an autolink, which is not decoded. */
function asLiteral({ text }: Tokens.Link): Tokens.Escape {
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

function addCharacters(characters: number): void {
  added += characters;
  if (added > MAX_ADDED) throw new RangeError('the rendered note is too large');
}

/** About how many cells have to be added to the rows of a table. */
function missingCells(delimiters: string, rows: string): number {
  const columns = delimiters.match(/-+/g)?.length ?? 0;
  const lines = rows.split('\n').length;
  return Math.max(0, columns * lines - (lines + rows.split('|').length));
}

import { Marked, type MarkedToken, type Token, type Tokens } from 'marked';
import { decodeString } from 'micromark-util-decode-string';
import { excerpt } from './excerpt.ts';
import { PictureReferences } from './picture-references.ts';
import { exactText } from './text.ts';
import { type Rendered, unrendered } from './unrendered.ts';
import { withoutForbidden } from './xml.ts';

/**
 * Characters that empty table cells and links may add beyond what the note itself holds. A row shorter than its table
 * is filled up with cells, each use of a definition repeats its address, and a relative one gets the base before it, so
 * a note of 30 KB could otherwise ask for gigabytes, and a feed of small notes for a document of tens of megabytes.
 */
const MAX_ADDED = 64 * 1024;
/** Characters of an empty table cell with its line end, as written in HTML. */
const CELL = 10;
/** Elements within elements. Readers that parse with libxml2 give up at 256. */
const MAX_DEPTH = 100;

const LINK_SCHEMES = ['http:', 'https:', 'mailto:'];
const PICTURE_SCHEMES = ['http:', 'https:'];

const CHARACTER_REFERENCE = /&(?:#(?:\d{1,7}|x[\da-f]{1,6})|[a-z][a-z\d]{0,30});/gi;
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Counts what is added to the note that is being rendered: a thread renders one at a time. */
let added = 0;

const markdownParser = new Marked({
  tokenizer: {
    table(source) {
      if (!/^.*\n {0,3}[|:-]/.test(source)) return undefined;
      const [, , delimiters = '', rows = ''] = this.rules.block.table.exec(source) ?? [];
      spend(missingCells(delimiters, rows) * CELL);
      return false;
    },
  },
});

/**
 * The note as HTML: GitHub's markdown, raw HTML shown as text, only harmless elements, absolute addresses, no
 * character that XML forbids. A note that cannot be rendered (nested too deep, grown too large) is its text in
 * a `<pre>`. Takes seconds to minutes on hostile input: run it with a time limit.
 *
 * @param base what relative references are relative to: `<base url>/r/<read_id>/`, with the slash
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

/** Writes tokens as HTML. Every tag is written here, and every text and value in it is escaped here. */
class NoteHtml {
  readonly #references: PictureReferences;
  readonly #base: string;
  #depth = 0;
  /** What has been written, without marks. */
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
        return token.tokens ? this.write(token.tokens) : this.#shown(decoded(token.text));
      case 'escape':
        return this.#shown(token.text);
      case 'html':
        return token.block ? this.#line(`<p>${this.#shown(token.text)}</p>`) : this.#shown(token.text);
      case 'paragraph':
        return this.#line(this.#element('p', token.tokens));
      case 'heading':
        return this.#line(this.#element(`h${token.depth}`, token.tokens));
      case 'strong':
      case 'em':
      case 'del':
        return this.#element(token.type, token.tokens);
      case 'codespan':
        return `<code>${this.#shown(token.text)}</code>`;
      case 'br':
        this.text += '\n';
        return '<br />';
      case 'link':
        return this.#element('a', token.autolink ? [literal(token)] : token.tokens, this.#ofLink(token));
      case 'image':
        return this.#picture(token);
      case 'checkbox':
        return this.#shown(token.checked ? '☑ ' : '☐ ');
      case 'code':
        return this.#line(`<pre><code>${this.#shown(endedLine(token.text))}</code></pre>`);
      case 'blockquote':
        return this.#line(this.#element('blockquote', token.tokens, '', '\n'));
      case 'list':
        return this.#list(token);
      case 'list_item':
        return this.#line(this.#element('li', token.tokens));
      case 'table':
        return this.#table(token);
      case 'hr':
        return '<hr />\n';
      case 'space':
      case 'def':
        return '';
    }
  }

  #shown(text: string): string {
    this.text += text;
    return escaped(text);
  }

  #line(html: string): string {
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
    return this.#line(this.#element(ordered ? 'ol' : 'ul', items, attributes, '\n'));
  }

  #table({ header, rows }: Tokens.Table): string {
    const head = `<thead>\n${this.#row(header)}</thead>\n`;
    const body = rows.length > 0 ? `<tbody>${rows.map((row) => this.#row(row)).join('')}</tbody>` : '';
    return `<table>\n${head}${body}</table>\n`;
  }

  #row(cells: readonly Tokens.TableCell[]): string {
    let html = '<tr>\n';
    for (const { header, align, tokens } of cells)
      html += this.#line(this.#element(header ? 'th' : 'td', tokens, attribute('align', align)));
    return `${html}</tr>\n`;
  }

  #ofLink(link: Tokens.Link): string {
    return attribute('href', this.#address(link, LINK_SCHEMES)) + titleOf(link);
  }

  #picture(image: Tokens.Image): string {
    const alt = textOf(image.tokens);
    this.text += alt;
    const address = attribute('src', this.#address(image, PICTURE_SCHEMES));
    return `<img${address}${attribute('alt', alt)}${titleOf(image)} />`;
  }

  /** The address meant; undefined if it has another scheme. What is absolute stays as written. */
  #address(token: Tokens.Link | Tokens.Image, schemes: readonly string[]): string | undefined {
    const { href, title, raw } = token;
    // The address and title of a definition stand in the note once and in the HTML at every use.
    spend(Math.max(0, href.length + (title?.length ?? 0) - raw.length));
    const written = withoutForbidden('autolink' in token && token.autolink ? href : decoded(href));
    const reference = encodeURI(written).replaceAll('%25', '%');
    const url = URL.parse(reference, this.#base);
    if (url === null || !schemes.includes(url.protocol)) return undefined;
    if (/^(?:https?:\/\/|mailto:)/i.test(reference)) return reference;
    spend(Math.max(0, url.href.length - reference.length));
    this.#references.noteShown(href, reference, url.href);
    return url.href;
  }
}

/** Plain text of tokens: what they show, without markup. */
function textOf(tokens: readonly Token[]): string {
  let text = '';
  for (const token of tokens as readonly MarkedToken[]) {
    if (token.type === 'br') text += '\n';
    else if ('tokens' in token && token.tokens) text += textOf(token.tokens);
    else if ('text' in token) text += token.type === 'text' ? decoded(token.text) : token.text;
  }
  return text;
}

function endedLine(code: string): string {
  return code === '' || code.endsWith('\n') ? code : `${code}\n`;
}

/** The text of an autolink, in which nothing is decoded. */
function literal({ text }: Tokens.Link): Tokens.Escape {
  return { type: 'escape', raw: text, text };
}

function titleOf({ title }: Tokens.Link | Tokens.Image): string {
  return attribute('title', title ? decoded(title) : undefined);
}

/** Nothing without a value. */
function attribute(name: string, value: string | null | undefined): string {
  return value == null ? '' : ` ${name}="${escaped(value).replaceAll('"', '&quot;')}"`;
}

function escaped(text: string): string {
  return /[&<>]/.test(text) ? text.replace(/[&<>]/g, (character) => ESCAPES[character]!) : text;
}

function decoded(text: string): string {
  return text.includes('&')
    ? text.replace(CHARACTER_REFERENCE, (reference) => decodeString(reference))
    : text;
}

function spend(characters: number): void {
  added += characters;
  if (added > MAX_ADDED) throw new RangeError('the rendered note is too large');
}

/** About how many cells a table has that are not written in its rows. */
function missingCells(delimiters: string, rows: string): number {
  const columns = delimiters.match(/-+/g)?.length ?? 0;
  const lines = rows.split('\n').length;
  return Math.max(0, columns * lines - (lines + rows.split('|').length));
}

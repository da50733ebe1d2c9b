import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { parseNoteFile } from '../feeds/names.ts';

/** A token whose address may be a picture of the feed. */
export type PictureToken = Tokens.Link | Tokens.Image;

/** Any folder, because a reference to a picture means the same in all. */
const FOLDER = 'https://folder.invalid/r/-/';
const { inline, block } = Lexer.rules;

/** A destination in a text that the parser was given. */
interface Destination {
  readonly offset: number;
  /** As it is written there. */
  readonly written: string;
}

/** Whether the name of a picture, put behind the address of a folder, is the address that a relative reference means. */
export function isPicture(reference: string): boolean {
  const address = URL.parse(reference, FOLDER)?.href;
  if (!address?.startsWith(FOLDER) || address !== URL.parse(FOLDER + reference)?.href) return false;
  const [, name] = /^([^/?#]+)$/.exec(address.slice(FOLDER.length)) ?? [];
  const file = name === undefined ? undefined : parseNoteFile(percentDecoded(name));
  return file !== undefined && file.type !== 'md';
}

/** The markdown with `base` inserted at these offsets. Nothing else changes. */
export function withBaseAt(offsets: readonly number[], markdown: string, base: string): string {
  let text = '';
  let from = 0;
  for (const offset of offsets) {
    text += markdown.slice(from, offset) + base;
    from = offset;
  }
  return text + markdown.slice(from);
}

/**
 * Finds the destinations of links and images, or of their definitions, in the text that was parsed. The parser does not say
 * where its tokens stand, but the lines of a block are lines of the text, without the marks of quotes and lists before them.
 * A destination that is not found where it must be is left out.
 */
export class PicturePlaces {
  readonly #pictures: ReadonlySet<PictureToken>;
  readonly #text: string;
  readonly #lines: readonly string[];
  readonly #starts: readonly number[];
  readonly #places = new Set<number>();
  /** Labels of the definitions that show pictures. */
  readonly #labels = new Set<string>();
  /** Places of the first definition of each label. */
  readonly #definitions = new Map<string, number | undefined>();

  constructor(pictures: ReadonlySet<PictureToken>, text: string) {
    this.#pictures = pictures;
    this.#text = text;
    this.#lines = text.split('\n');
    let end = -1;
    this.#starts = this.#lines.map(({ length }) => {
      const start = end + 1;
      end = start + length;
      return start;
    });
  }

  /** Offsets in the text, ascending. */
  find(blocks: readonly Token[]): number[] {
    this.#blocks(blocks, 0);
    for (const label of this.#labels) this.#add(this.#definitions.get(label));
    return [...this.#places].sort((a, b) => a - b);
  }

  /** @param first number of the line with which the blocks begin */
  #blocks(blocks: readonly Token[], first: number): void {
    let line = first;
    let before = '\n';
    for (const token of blocks as readonly MarkedToken[]) {
      if (token.type === 'checkbox') continue;
      // Between the parts of a quote that are parsed one by one, no token has the line end.
      if (!before.endsWith('\n') && token.type !== 'space') line += 1;
      this.#block(token, line);
      line += lineEnds(token.raw);
      before = token.raw;
    }
  }

  #block(token: MarkedToken, line: number): void {
    if (token.type === 'list') {
      let itemLine = line;
      for (const { tokens, raw } of token.items) {
        this.#blocks(tokens, itemLine);
        itemLine += lineEnds(raw);
      }
    } else if (token.type === 'blockquote') this.#blocks(token.tokens, line);
    else if (token.type === 'table')
      for (const [n, row] of [token.header, [], ...token.rows].entries()) this.#row(row, line + n);
    else if (token.type === 'def') this.#definition(token, line);
    else if ('tokens' in token && token.tokens) {
      const source = sourceOf(token.tokens);
      for (const found of this.#destinations(token.tokens)) this.#add(this.#place(found, source, line));
    }
  }

  #row(cells: readonly Tokens.TableCell[], line: number): void {
    let from = 0;
    for (const { tokens } of cells) {
      const source = sourceOf(tokens);
      const written = source.replaceAll('|', '\\|');
      const start = this.#lines[line]?.indexOf(written, from) ?? -1;
      if (start === -1) return;
      for (const found of this.#destinations(tokens)) {
        const [offset = 0] = offsetsIn(written, source, [found.offset]);
        this.#add(this.#checked(this.#starts[line]! + start + offset, found));
      }
      from = start + written.length;
    }
  }

  #definition({ raw, tag }: Tokens.Def, line: number): void {
    if (this.#definitions.has(tag)) return;
    const [, label, written] = block.gfm.def.exec(raw)!;
    const behind = raw.indexOf('[') + label!.length + ']:'.length + 1;
    this.#definitions.set(tag, this.#place(destination(raw, behind, written!), raw, line));
  }

  /** The destinations in the source of these tokens. Takes note of the labels that stand for others. */
  #destinations(tokens: readonly Token[]): Destination[] {
    let start = 0;
    return (tokens as readonly MarkedToken[]).flatMap((token) => {
      const found = token.type === 'checkbox' ? [] : this.#destinationsIn(token);
      const moved = found.map(({ offset, written }) => ({ offset: start + offset, written }));
      if (token.type !== 'checkbox') start += token.raw.length;
      return moved;
    });
  }

  #destinationsIn(token: MarkedToken): Destination[] {
    const { raw } = token;
    const found: Destination[] = [];
    const isLink = token.type === 'link';
    if ((isLink || token.type === 'image') && this.#pictures.has(token)) {
      const [, label, written] = raw.endsWith(')') ? inline.gfm.link.exec(raw)! : [];
      if (label === undefined) this.#labels.add(labelOf(raw));
      else found.push(destination(raw, raw.indexOf('[') + label.length + ']('.length + 1, written!));
    }
    if (token.type === 'image' || !('tokens' in token) || !token.tokens || !('text' in token)) return found;
    const begin = isLink ? 1 : (raw.length - token.text.length) / 2;
    const inner = this.#destinations(token.tokens);
    // A link's text has lost the backslashes before its brackets.
    const offsets = offsetsIn(
      raw.slice(begin),
      token.text,
      inner.map(({ offset }) => offset),
    );
    return [...inner.map(({ written }, n) => ({ offset: begin + offsets[n]!, written })), ...found];
  }

  /**
   * The offset in the text of a destination in the source of a block; undefined if it does not stand there.
   * @param line number of the line with which the block begins
   */
  #place(found: Destination, source: string, line: number): number | undefined {
    const start = source.lastIndexOf('\n', found.offset) + 1;
    const [shown = ''] = source.slice(start).split('\n', 1);
    const number = line + lineEnds(source.slice(0, start));
    const column = this.#lines[number]?.indexOf(shown.trim()) ?? -1;
    if (column === -1) return undefined;
    const indent = shown.length - shown.trimStart().length;
    return this.#checked(this.#starts[number]! + column + found.offset - start - indent, found);
  }

  #checked(offset: number, { written }: Destination): number | undefined {
    return this.#text.startsWith(written, offset) ? offset : undefined;
  }

  #add(place: number | undefined): void {
    if (place !== undefined) this.#places.add(place);
  }
}

/**
 * Where the characters at some offsets, ascending, stand in the text as it was written: with more characters between them,
 * and with any line ends.
 */
export function offsetsIn(written: string, text: string, offsets: readonly number[]): readonly number[] {
  if (written === text) return offsets;
  let at = -1;
  let next = 0;
  return offsets.map((offset) => {
    for (; next <= offset; next += 1)
      do at += 1;
      while (
        at < written.length &&
        written[at] !== text[next] &&
        !(written[at] === '\r' && text[next] === '\n')
      );
    return at;
  });
}

/** @param from offset in the source; white space and `<` may follow */
function destination(source: string, from: number, written: string): Destination {
  const [before] = /^\s*<?/.exec(source.slice(from))!;
  return { offset: from + before.length, written: written.trim().replace(/^<|>$/g, '') };
}

/** What the parts of a line were read from. A task's box is not in it. */
function sourceOf(tokens: readonly Token[]): string {
  return tokens.map(({ type, raw }) => (type === 'checkbox' ? '' : raw)).join('');
}

/** The label of a link or image that has one, as the parser compares it with those of definitions. */
function labelOf(raw: string): string {
  const [, text = '', label] = inline.gfm.reflink.exec(raw) ?? inline.gfm.nolink.exec(raw)!;
  const written = label || text;
  return written.trim().replace(/\s+/g, ' ').toLowerCase().toUpperCase().toLowerCase();
}

function lineEnds(text: string): number {
  return text.split('\n').length - 1;
}

function percentDecoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

import { Lexer, type MarkedToken, type Token } from 'marked';
import { parseNoteFile } from '../feeds/names.ts';
import { percentDecoded } from '../feeds/urls.ts';
import { isFootnoteDefinition } from './footnotes.ts';

/** Any folder, because a reference to a picture means the same in all. */
const FOLDER = 'https://folder.invalid/r/-/';
const { inline, block } = Lexer.rules;

/** Where the address of a picture is written. */
interface Destination {
  readonly offset: number;
  readonly written: string;
  /** Of the definition that it is in. */
  readonly label?: string;
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
 * The offsets in a text of the destinations of these links and images, or of their definitions; ascending. A destination that
 * is not found there is left out.
 * @param text as posted: all that was parsed, with any line ends, and characters that XML forbids between
 */
export function picturePlaces(
  blocks: readonly Token[],
  pictures: ReadonlySet<Token>,
  text: string,
): number[] {
  const labels = new Set([...pictures].map(({ raw }) => (matchInline(raw) ? undefined : labelOf(raw))));
  const defined = new Set<string>();
  const places: number[] = [];
  for (const { offset, written, label } of destinationsIn(blocks, text, pictures)) {
    const isUsed = label === undefined || (labels.has(label) && !defined.has(label));
    if (isUsed && text.startsWith(written, offset)) places.push(offset);
    if (label !== undefined) defined.add(label);
  }
  return places;
}

/**
 * The destinations of pictures, and those of all definitions, in the text that these tokens were read from. The parser does not
 * say where a token stands. But the tokens stand there in their order, and between them stand only white space and the marks of
 * the block or element that they are in.
 */
function destinationsIn(
  tokens: readonly Token[],
  text: string,
  pictures: ReadonlySet<Token>,
): readonly Destination[] {
  const found = tokens.map((token) => ofToken(token as MarkedToken, pictures));
  const last = found.findLastIndex(({ length }) => length > 0);
  let at = -1;
  return found.slice(0, last + 1).flatMap((destinations, n) => {
    const { type, raw } = tokens[n]!;
    let from = 0;
    const placed = destinations.map((destination) => {
      at = endOf(raw.slice(from, destination.offset + 1), text, at);
      from = destination.offset + 1;
      return { ...destination, offset: at };
    });
    // What stands for a task's box is not what was written.
    if (type !== 'checkbox') at = endOf(raw.slice(from), text, at);
    return placed;
  });
}

/** The same in the raw text of a token. */
function ofToken(token: MarkedToken, pictures: ReadonlySet<Token>): readonly Destination[] {
  const { type, raw } = token;
  if (type === 'def') return [{ ...destination(raw, block.gfm.def.exec(raw)!), label: token.tag }];
  const inside = destinationsIn(partsOf(token), raw, pictures);
  const match = pictures.has(token) ? matchInline(raw) : undefined;
  return match ? [...inside, destination(raw, match)] : inside;
}

/** Matches a link or image with its destination. The parser cuts off its end if white space is before the destination. */
function matchInline(raw: string): RegExpExecArray | null {
  return inline.gfm.link.exec(raw) ?? inline.gfm.link.exec(`${raw})`);
}

function partsOf(part: Token): readonly Token[] {
  if (isFootnoteDefinition(part)) return part.blocks;
  const token = part as MarkedToken;
  switch (token.type) {
    case 'image':
      return [];
    case 'list':
      return token.items;
    case 'table': {
      const rows = [token.header, [], ...token.rows];
      const cells = (n: number) => rows[n]?.map(({ text, tokens }) => ({ type: 'cell', raw: text, tokens }));
      return token.raw.split('\n').map((raw, n) => ({ type: 'row', raw, tokens: cells(n) ?? [] }));
    }
    default:
      return ('tokens' in token && token.tokens) || [];
  }
}

/** The destination in `[label](destination` or `[label]: destination`. */
function destination(raw: string, [, label = '', written = '']: RegExpExecArray): Destination {
  const behind = raw.indexOf('[') + label.length + '[]('.length;
  const [before] = /^\s*<?/.exec(raw.slice(behind))!;
  return { offset: behind + before.length, written: written.trim().replace(/^<|>$/g, '') };
}

/**
 * The offset in the text of the last character of `passed`. The text behind `at` has the characters of `passed` in the same order, with
 * others between them.
 */
function endOf(passed: string, text: string, at: number): number {
  let last = at;
  for (const character of passed) {
    if (character.trim() === '') continue;
    last = text.indexOf(character, last + 1);
    if (last === -1) return text.length;
  }
  return last;
}

/** The label by which a link or image refers to its definition, as the parser compares it. */
function labelOf(raw: string): string {
  const [, text = '', label] = inline.gfm.reflink.exec(raw) ?? inline.gfm.nolink.exec(raw) ?? [];
  return (label || text).trim().replace(/\s+/g, ' ').toLowerCase().toUpperCase().toLowerCase();
}

import { parse, postprocess, preprocess } from 'micromark';
import { gfmTable } from 'micromark-extension-gfm-table';
import { decodeString } from 'micromark-util-decode-string';
import { normalizeIdentifier } from 'micromark-util-normalize-identifier';
import { percentDecoded } from './urls.ts';

/** A picture that was posted with a text. */
export interface StoredPicture {
  /** The posted name, which the text refers to. */
  readonly name: string;
  /** The stored name: letters, digits, `-` and `.`, which need no escapes in markdown. */
  readonly file: string;
}

/** A token of a markdown text begins or ends; the context gives the characters of the token. */
type MarkdownEvent = ReturnType<typeof postprocess>[number];

/** The destination of a link, an image or a definition. */
interface Destination {
  /** Its offsets, as in tokens, without angle brackets. */
  readonly start: number;
  readonly end: number;
  /** Backslash escapes and character references are decoded, percent signs are not. */
  readonly text: string;
}

/** A destination that may be rewritten. */
interface Place extends Destination {
  /** Whether a reader sees the file, or a link to it. */
  readonly isShown: boolean;
}

/** An image, link or definition that is being read. */
interface OpenElement {
  readonly type: string;
  /** Of its definition, unless it is inline. */
  label: string;
  isInline: boolean;
  destination: Destination | undefined;
}

const LINE_END = /\r\n|[\r\n]/;
const BLANK = /^[ \t]*$/;
const CONTAINERS: ReadonlySet<string> = new Set(['blockQuote', 'listOrdered', 'listUnordered']);

/** HTML blocks that no blank line ends (CommonMark 4.6, kinds 1 to 5): their start, their end, and what closes them. */
const HTML_BLOCKS: readonly (readonly [start: RegExp, end: RegExp, closing: string])[] = [
  [/^<(script|pre|style|textarea)(?:[\s>]|$)/i, /<\/(?:script|pre|style|textarea)>/i, '</$1>'],
  [/^<!--/, /-->/, '-->'],
  [/^<\?/, /\?>/, '?>'],
  [/^<!\[CDATA\[/, /\]\]>/, ']]>'],
  [/^<![a-z]/i, />/, '>'],
];

/**
 * The text with its pictures under their stored names (docs/specification.md, "Multipart parts"): in the destinations of
 * images and of the first definition of each label. Plain links and all else stay as written. A picture that no image
 * shows, and no link by a definition leads to, is added at the end. Takes minutes on hostile texts (run it with a time
 * limit) and throws a `RangeError` if a text is nested too deep.
 */
export function placePictures(text: string, pictures: readonly StoredPicture[]): string {
  if (pictures.length === 0) return text;
  const events = markdownEvents(text);
  // The parser does not count a byte order mark.
  const origin = text.startsWith('\ufeff') ? 1 : 0;
  const byName = new Map(pictures.map((picture) => [picture.name, picture]));
  const shown = new Set<StoredPicture>();
  let placed = '';
  let from = 0;
  for (const { start, end, text: name, isShown } of placesIn(events)) {
    const picture = byName.get(name) ?? byName.get(percentDecoded(name));
    if (!picture) continue;
    placed += text.slice(from, origin + start) + picture.file;
    from = origin + end;
    if (isShown) shown.add(picture);
  }
  placed += text.slice(from);
  const unseen = pictures.filter((picture) => !shown.has(picture));
  return unseen.length === 0 ? placed : withPictures(placed, unseen, closingLine(events));
}

/**
 * Reads a text as CommonMark 0.31 with GitHub's tables. Tokens count in UTF-16 units from the start of the text, but
 * from behind a byte order mark.
 *
 * micromark 4.0 misreads
 * - a list that follows indented code and starts with an empty item or a number other than 1,
 * - a tag that is alone on a lazy line,
 * - a CDATA block that ends with `]]]>`,
 * - a shortcut reference before a bracket that begins no label (`![r][`).
 */
function markdownEvents(text: string): MarkdownEvent[] {
  const parser = parse({ extensions: [gfmTable()] });
  return postprocess(parser.document().write(preprocess()(text, undefined, true)));
}

/** The destinations of all inline images, and of the first definition of each label, in the order of the text. */
function placesIn(events: readonly MarkdownEvent[]): Place[] {
  const places: Place[] = [];
  const shownLabels = new Set<string>();
  const definitions = new Map<string, Destination | undefined>();
  const open: OpenElement[] = [];
  for (const event of events) {
    const [kind, { type }] = event;
    if (type !== 'image' && type !== 'link' && type !== 'definition') {
      if (kind === 'exit' && open.length > 0) readToken(event, open.at(-1)!);
    } else if (kind === 'enter') open.push({ type, label: '', isInline: false, destination: undefined });
    else {
      const { label, isInline, destination } = open.pop()!;
      // Elements in the description of an image are not visible.
      const isShown = !open.some((around) => around.type === 'image');
      if (type === 'definition') {
        if (!definitions.has(label)) definitions.set(label, destination);
      } else if (!isInline && isShown) shownLabels.add(label);
      if (type === 'image' && destination) places.push({ ...destination, isShown });
    }
  }
  for (const [label, destination] of definitions)
    if (destination) places.push({ ...destination, isShown: shownLabels.has(label) });
  return places.sort((a, b) => a.start - b.start);
}

function readToken([, token, context]: MarkdownEvent, element: OpenElement): void {
  const source = () => context.sliceSerialize(token);
  switch (token.type) {
    case 'labelText':
    case 'referenceString':
    case 'definitionLabelString':
      element.label = normalizeIdentifier(source());
      break;
    case 'resource':
      element.isInline = true;
      break;
    case 'resourceDestinationString':
    case 'definitionDestinationString': {
      const { start, end } = token;
      element.destination = { start: start.offset, end: end.offset, text: decodeString(source()) };
    }
  }
}

/** Adds each picture as a paragraph of its own, with line ends like the first one of the text. */
function withPictures(text: string, pictures: readonly StoredPicture[], closing: string | undefined): string {
  const [lineEnd] = LINE_END.exec(text) ?? ['\n'];
  let before = text;
  if (closing !== undefined) before += (linesOf(text).at(-1) === '' ? '' : lineEnd) + closing;
  // A \n added after \r makes one line end with it, so count again.
  while (!endsWithBlankLine(before)) before += lineEnd;
  return before + pictures.map(({ file }) => `![](${file})`).join(lineEnd + lineEnd);
}

/** Whether the text ends with a blank line, or is empty. */
function endsWithBlankLine(text: string): boolean {
  const [last, previous = ''] = linesOf(text).reverse();
  return last === '' && BLANK.test(previous);
}

function linesOf(text: string): string[] {
  return text.replace(/^\ufeff/, '').split(LINE_END);
}

/**
 * The line that closes the code fence or HTML block that is open at the end of a text, and would contain what follows even
 * after a blank line; undefined if there is none. Blocks inside a quote or list end with it.
 */
function closingLine(events: readonly MarkdownEvent[]): string | undefined {
  let containers = 0;
  let fences: string[] = [];
  let closing: string | undefined;
  for (const [kind, token, context] of events) {
    const source = () => context.sliceSerialize(token);
    if (CONTAINERS.has(token.type)) containers += kind === 'enter' ? 1 : -1;
    else if (containers > 0) continue;
    else if (kind === 'enter') {
      if (token.type === 'codeFenced') fences = [];
    } else if (token.type === 'codeFencedFenceSequence') fences.push(source());
    else if (token.type === 'codeFenced') closing = fences.length === 1 ? fences[0] : undefined;
    else if (token.type === 'htmlFlow') closing = htmlClosing(source().trimStart());
  }
  return closing;
}

/** What closes an HTML block; undefined if a blank line does, or if it is closed. */
function htmlClosing(source: string): string | undefined {
  for (const [start, end, closing] of HTML_BLOCKS) {
    const match = start.exec(source);
    if (match) return end.test(source) ? undefined : closing.replace('$1', () => match[1]!.toLowerCase());
  }
  return undefined;
}

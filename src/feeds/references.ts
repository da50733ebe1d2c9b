import { type MarkdownEvent, markdownEvents, pictureDestinations } from './destinations.ts';

/** A picture that was posted with a text. */
export interface StoredPicture {
  /** The posted name, which the text refers to. */
  readonly name: string;
  /** The stored name: letters, digits, `-` and `.`, which need no escapes in markdown. */
  readonly file: string;
}

const LINE_END = /\r\n|[\r\n]/;
const BLANK = /^[ \t]*$/;
const CONTAINERS: ReadonlySet<string> = new Set(['blockQuote', 'listOrdered', 'listUnordered']);

/** HTML blocks that no blank line ends (CommonMark 4.6, kinds 1 to 5). */
const HTML_BLOCKS: readonly { readonly start: RegExp; readonly end: RegExp; readonly closing: string }[] = [
  ...['script', 'pre', 'style', 'textarea'].map((name) => ({
    start: new RegExp(String.raw`^<${name}(?:[\s>]|$)`, 'i'),
    end: /<\/(?:script|pre|style|textarea)>/i,
    closing: `</${name}>`,
  })),
  { start: /^<!--/, end: /-->/, closing: '-->' },
  { start: /^<\?/, end: /\?>/, closing: '?>' },
  { start: /^<!\[CDATA\[/, end: /\]\]>/, closing: ']]>' },
  { start: /^<![a-z]/i, end: />/, closing: '>' },
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
  for (const { start, end, text: name, isShown } of pictureDestinations(events)) {
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

/** The name percent-decoded; as it is if that yields no text. */
function percentDecoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
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
  const block = HTML_BLOCKS.find(({ start }) => start.test(source));
  return block?.end.test(source) ? undefined : block?.closing;
}

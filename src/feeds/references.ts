import { pictureDestinations } from './destinations.ts';
import { markdownEvents } from './markdown-events.ts';
import { closingLine } from './open-block.ts';

/** A picture that was posted with a text. */
export interface Placed {
  /** The name it was posted under, by which the text refers to it. */
  readonly name: string;
  /** The name it is stored under, of letters, digits, `-` and `.`: nothing that markdown would have escaped. */
  readonly file: string;
}

const LINE_END = /\r\n|[\r\n]/;
const BLANK = /^[ \t]*$/;

/**
 * The text with the pictures in it under the names they are stored under (docs/specification.md, "Multipart parts"): the
 * destinations of images and of the first definition of each label change, plain links and all else stay as written.
 * A picture that no image shows, and no link by a definition leads to, is added at the end. Takes minutes on hostile
 * texts (run it with a time limit) and throws a `RangeError` on some that are nested too deep.
 */
export function placePictures(text: string, pictures: readonly Placed[]): string {
  if (pictures.length === 0) return text;
  const events = markdownEvents(text);
  // The parser counts from behind a byte order mark.
  const origin = text.startsWith('\ufeff') ? 1 : 0;
  const byName = new Map(pictures.map((picture) => [picture.name, picture]));
  const shown = new Set<Placed>();
  let placed = '';
  let from = 0;
  for (const { start, end, says, isShown } of pictureDestinations(events)) {
    const picture = byName.get(says) ?? byName.get(percentDecoded(says));
    if (!picture) continue;
    placed += text.slice(from, origin + start) + picture.file;
    from = origin + end;
    if (isShown) shown.add(picture);
  }
  placed += text.slice(from);
  const unseen = pictures.filter((picture) => !shown.has(picture));
  return unseen.length === 0 ? placed : withPictures(placed, unseen, closingLine(events));
}

/** The name with `%20` and the like resolved; as it is when that yields no text. */
function percentDecoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Adds each picture as a paragraph of its own, with line ends like the first one of the text. */
function withPictures(text: string, pictures: readonly Placed[], closing: string | undefined): string {
  const [lineEnd] = LINE_END.exec(text) ?? ['\n'];
  let before = text;
  if (closing !== undefined) before += (linesOf(text).at(-1) === '' ? '' : lineEnd) + closing;
  // One more than it seems where \n, put after \r, made one line end of the two.
  while (!endsWithBlankLine(before)) before += lineEnd;
  return before + pictures.map(({ file }) => `![](${file})`).join(lineEnd + lineEnd);
}

/** Whether what follows starts a line, after a blank one or as the first. */
function endsWithBlankLine(text: string): boolean {
  const [last, previous = ''] = linesOf(text).reverse();
  return last === '' && BLANK.test(previous);
}

function linesOf(text: string): string[] {
  return text.replace(/^\ufeff/, '').split(LINE_END);
}

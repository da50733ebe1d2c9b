/** A file of the feed as a destination: one path segment, one of the four extensions; `%20` and the like stay. */
const PICTURE = String.raw`[^\s<>()[\]\\/:?#.]+\.(?:png|jpg|gif|webp)`;
const SPACED_PICTURE = String.raw`[^\n<>\\/:?#.]+\.(?:png|jpg|gif|webp)`;
/** Where a destination starts: after `](`, or after `[label]:` at the start of a line. */
const START = String.raw`\]\([ \t]*|^ {0,3}\[[^[\]\n]+\]:[ \t]*`;

const REFERENCE = new RegExp(`(${START})(?:(<)(?=${SPACED_PICTURE}>)|(?=${PICTURE}(?:[\\s)]|$)))`, 'gm');
/** The opening line of a fence of backticks has no others (CommonMark §4.5). */
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const INDENTED = /^(?: {4}|\t)/;

/**
 * The markdown with references to the feed's own pictures (`![alt](<file>)`, `[label]: <file>`) made absolute by
 * putting `folder` (with a slash at its end) before the file; nothing else changes. Code is left as written, and
 * so is whatever a look at lines and backticks cannot tell from code. Takes linear time.
 */
export function absolutePictures(markdown: string, folder: string): string {
  if (!/\.(?:png|jpg|gif|webp)/.test(markdown)) return markdown;
  let fence: string | undefined;
  let paragraph: string[] = [];
  const written: string[] = [];
  const endParagraph = () => {
    if (paragraph.length > 0) written.push(outsideCodeSpans(paragraph.join('\n'), folder));
    paragraph = [];
  };
  for (const line of markdown.split('\n')) {
    const mark = FENCE.exec(line)?.[1];
    const isCode = fence !== undefined || mark !== undefined || INDENTED.test(line);
    if (isCode || line.trim() === '') {
      endParagraph();
      written.push(line);
    } else paragraph.push(line);
    if (fence === undefined) fence = mark;
    else if (mark !== undefined && closes(mark, fence, line)) fence = undefined;
  }
  endParagraph();
  return written.join('\n');
}

// CommonMark §4.5: the same character, at least as many, and nothing after them.
function closes(mark: string, fence: string, line: string): boolean {
  return mark.startsWith(fence) && line.trim() === mark;
}

function outsideCodeSpans(paragraph: string, folder: string): string {
  let result = '';
  let from = 0;
  for (const [start, end] of codeSpans(paragraph)) {
    result += inserted(paragraph.slice(from, start), folder) + paragraph.slice(start, end);
    from = end;
  }
  return result + inserted(paragraph.slice(from), folder);
}

/** The code spans of a paragraph: from a run of backticks to the next run of the same length (CommonMark §6.1). */
function codeSpans(paragraph: string): [start: number, end: number][] {
  const runs = [...paragraph.matchAll(/`+/g)];
  const last = new Map(runs.map((run, index) => [run[0].length, index]));
  const spans: [number, number][] = [];
  for (let opener = 0; opener < runs.length; opener += 1) {
    const length = runs[opener]![0].length;
    if (last.get(length) === opener) continue;
    let closer = opener + 1;
    while (runs[closer]![0].length !== length) closer += 1;
    spans.push([runs[opener]!.index, runs[closer]!.index + length]);
    opener = closer;
  }
  return spans;
}

function inserted(text: string, folder: string): string {
  return text.replace(REFERENCE, (_, start: string, angle = '') => start + angle + folder);
}

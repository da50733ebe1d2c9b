import { parse, postprocess, preprocess } from 'micromark';
import { gfmTable } from 'micromark-extension-gfm-table';
import { decodeString } from 'micromark-util-decode-string';
import { normalizeIdentifier } from 'micromark-util-normalize-identifier';

/** The destination of an image or a definition. */
interface Destination {
  /** Its offsets, as in tokens, without angle brackets. */
  readonly start: number;
  readonly end: number;
  /** Backslash escapes and character references are decoded, percent signs are not. */
  readonly text: string;
  /** Whether a reader sees the file, or a link to it. */
  readonly isShown: boolean;
}

type Span = Omit<Destination, 'isShown'>;

/** An image or link that is being parsed. */
interface MediaElement {
  readonly isImage: boolean;
  /** Of its definition, unless it is inline. */
  label: string;
  isInline: boolean;
  span: Span | undefined;
}

/** The destinations of all images and of the first definition of each label, in the order of the text. */
export function pictureDestinations(events: readonly MarkdownEvent[]): Destination[] {
  const { inline, shownLabels } = imagesAndLinks(events);
  const defined = [...definitions(events)].flatMap(([label, span]) =>
    span ? [{ ...span, isShown: shownLabels.has(label) }] : [],
  );
  return [...inline, ...defined].sort((a, b) => a.start - b.start);
}

/** The destinations of inline images, and the labels of the definitions that images and links refer to. */
function imagesAndLinks(events: readonly MarkdownEvent[]): {
  readonly inline: readonly Destination[];
  readonly shownLabels: ReadonlySet<string>;
} {
  const inline: Destination[] = [];
  const shownLabels = new Set<string>();
  const open: MediaElement[] = [];
  for (const event of events) {
    const [kind, { type }] = event;
    if (type === 'image' || type === 'link') {
      if (kind === 'enter') {
        open.push({ isImage: type === 'image', label: '', isInline: false, span: undefined });
        continue;
      }
      const { isImage, label, isInline, span } = open.pop()!;
      // Elements in the description of an image are not visible.
      const isShown = !open.some((around) => around.isImage);
      if (!isInline && isShown) shownLabels.add(label);
      if (isImage && span) inline.push({ ...span, isShown });
    } else if (kind === 'exit' && open.length > 0) readToken(event, open.at(-1)!);
  }
  return { inline, shownLabels };
}

function readToken(event: MarkdownEvent, element: MediaElement): void {
  switch (event[1].type) {
    case 'labelText':
    case 'referenceString':
      element.label = labelOf(event);
      break;
    case 'resource':
      element.isInline = true;
      break;
    case 'resourceDestinationString':
      element.span = spanOf(event);
  }
}

/** The destination of the first definition of each label; undefined if it is empty. */
function definitions(events: readonly MarkdownEvent[]): Map<string, Span | undefined> {
  const first = new Map<string, Span | undefined>();
  let label = '';
  let span: Span | undefined;
  for (const event of events) {
    const [kind, { type }] = event;
    if (kind === 'enter') continue;
    if (type === 'definitionLabelString') label = labelOf(event);
    else if (type === 'definitionDestinationString') span = spanOf(event);
    else if (type === 'definition') {
      if (!first.has(label)) first.set(label, span);
      span = undefined;
    }
  }
  return first;
}

function labelOf([, token, context]: MarkdownEvent): string {
  return normalizeIdentifier(context.sliceSerialize(token));
}

function spanOf([, token, context]: MarkdownEvent): Span {
  const text = decodeString(context.sliceSerialize(token));
  return { start: token.start.offset, end: token.end.offset, text };
}

/** A token of a markdown text begins or ends; the context gives the characters of the token. */
export type MarkdownEvent = ReturnType<typeof postprocess>[number];

/**
 * Reads a text as CommonMark 0.31 with GitHub's tables. Tokens count in UTF-16 units from the start of the text, but
 * from behind a byte order mark. Takes minutes on hostile input: run it with a time limit.
 *
 * micromark 4.0 misreads a list that follows indented code and starts with an empty item or a number other than 1, a
 * tag that is alone on a lazy line, a CDATA block that ends with `]]]>`, and a shortcut reference before a bracket that
 * begins no label (`![r][`).
 */
export function markdownEvents(text: string): MarkdownEvent[] {
  const parser = parse({ extensions: [gfmTable()] });
  return postprocess(parser.document().write(preprocess()(text, undefined, true)));
}

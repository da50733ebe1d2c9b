import { decodeString } from 'micromark-util-decode-string';
import { normalizeIdentifier } from 'micromark-util-normalize-identifier';
import type { MarkdownEvent } from './markdown-events.ts';

/** Where an image, or the definition that images refer to, says which file is meant. */
export interface Destination {
  /** Where its characters are, as the tokens count; angle brackets around them do not belong to it. */
  readonly start: number;
  readonly end: number;
  /** What it says: backslash escapes and character references are resolved, percent signs are not. */
  readonly says: string;
  /** A reader sees the file, or a link to it. */
  readonly isShown: boolean;
}

type Place = Omit<Destination, 'isShown'>;

/** An image or a link as far as it is read. */
interface Medium {
  readonly isImage: boolean;
  /** Names its definition, unless it is inline. */
  label: string;
  isInline: boolean;
  place: Place | undefined;
}

/** The destinations of all images and of the first definition of each label, in the order of the text. */
export function pictureDestinations(events: readonly MarkdownEvent[]): Destination[] {
  const { inline, shownLabels } = imagesAndLinks(events);
  const defined = [...definitions(events)].flatMap(([label, place]) =>
    place ? [{ ...place, isShown: shownLabels.has(label) }] : [],
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
  const open: Medium[] = [];
  for (const event of events) {
    const [kind, { type }] = event;
    if (type === 'image' || type === 'link') {
      if (kind === 'enter') {
        open.push({ isImage: type === 'image', label: '', isInline: false, place: undefined });
        continue;
      }
      const { isImage, label, isInline, place } = open.pop()!;
      // What stands in the description of an image is not seen.
      const isShown = !open.some((around) => around.isImage);
      if (!isInline && isShown) shownLabels.add(label);
      if (isImage && place) inline.push({ ...place, isShown });
    } else if (kind === 'exit' && open.length > 0) read(event, open.at(-1)!);
  }
  return { inline, shownLabels };
}

function read(event: MarkdownEvent, medium: Medium): void {
  switch (event[1].type) {
    case 'labelText':
    case 'referenceString':
      medium.label = labelOf(event);
      break;
    case 'resource':
      medium.isInline = true;
      break;
    case 'resourceDestinationString':
      medium.place = placeOf(event);
  }
}

/** The destination of the first definition of each label; undefined where it is empty. */
function definitions(events: readonly MarkdownEvent[]): Map<string, Place | undefined> {
  const first = new Map<string, Place | undefined>();
  let label = '';
  let place: Place | undefined;
  for (const event of events) {
    const [kind, { type }] = event;
    if (kind === 'enter') continue;
    if (type === 'definitionLabelString') label = labelOf(event);
    else if (type === 'definitionDestinationString') place = placeOf(event);
    else if (type === 'definition') {
      if (!first.has(label)) first.set(label, place);
      place = undefined;
    }
  }
  return first;
}

function labelOf([, token, context]: MarkdownEvent): string {
  return normalizeIdentifier(context.sliceSerialize(token));
}

function placeOf([, token, context]: MarkdownEvent): Place {
  const says = decodeString(context.sliceSerialize(token));
  return { start: token.start.offset, end: token.end.offset, says };
}

import { CpuLimit } from './cpu-limit.ts';
import { isFlat, preparedText } from './markdown-parser.ts';
import { renderNote } from './note-html.ts';
import type { Rendered } from './note-text.ts';

/**
 * Texts are rendered on the event loop if the squares of their lengths sum up to this at most, bytes². marked takes 30 ns per
 * byte² for its worst flat text, so 3 ms for all of them, and usually 0.3 ms.
 */
const MAX_SQUARES = 100_000;
/** CPU limit of work with quick texts, ms. Only a text that is not as flat as it looks reaches it; the first text of a process takes 20 ms. */
export const ON_LOOP_MS = 200;

/**
 * Renders short flat texts, because that takes less than the trip to a thread.
 * @returns nothing if they are not all so; fewer of them if they take longer than they should
 */
export function renderOnLoop(contents: readonly Uint8Array[]): readonly Rendered[] {
  if (!areQuick(contents)) return [];
  const limit = new CpuLimit(ON_LOOP_MS);
  const rendered: Rendered[] = [];
  for (const content of contents) {
    const one = renderNote(content, limit);
    if (one === undefined) break;
    rendered.push(one);
  }
  return rendered;
}

/** Whether reading the texts takes less than the trip to a thread: they are short and flat. */
export function areQuick(contents: readonly Uint8Array[]): boolean {
  if (!areShort(contents)) return false;
  const texts = contents.map(preparedText);
  return areShort(texts) && texts.every(isFlat);
}

function areShort(texts: readonly { readonly length: number }[]): boolean {
  let squares = 0;
  for (const { length } of texts) squares += length ** 2;
  return squares <= MAX_SQUARES;
}

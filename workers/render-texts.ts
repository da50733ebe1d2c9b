import { CpuLimit } from '../src/read/cpu-limit.ts';
import { renderNote } from '../src/read/note-html.ts';
import type { Rendered } from '../src/read/note-text.ts';
import type { UnrenderedTexts } from '../src/read/renderer.ts';

/** Something of everything, because the first text of a thread takes 20 ms more. That must not count as its own. */
const WARM_UP = Buffer.from('# a\n\n*b* `c` ~~d~~ [e](f) ![g](h.png)\n\n- i\n  > j\n\n|k|l|\n|-|-|\n|m|n|\n');
renderNote(WARM_UP, new CpuLimit(Number.POSITIVE_INFINITY));

/**
 * Renders the texts from the first on, until they have taken `ms` together; undefined for one that alone takes longer. A few
 * texts may take much longer: run it with a time limit.
 */
export default function renderTexts(
  { contents, ms }: UnrenderedTexts,
  isGivenUp: () => boolean,
): (Rendered | undefined)[] {
  const together = new CpuLimit(ms, isGivenUp);
  const rendered: (Rendered | undefined)[] = [];
  for (const content of contents) {
    rendered.push(renderNote(content, new CpuLimit(ms, isGivenUp)));
    if (together.isReached) break;
  }
  return rendered;
}

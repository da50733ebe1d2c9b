import { CpuLimit } from '../../src/read/cpu-limit.ts';
import { renderNote } from '../../src/read/note-html.ts';
import { exactText, type Page, placedHtml, type Rendered } from '../../src/read/note-text.ts';
import { withBaseAt } from '../../src/read/picture-places.ts';

/** More CPU time than any test takes, ms. */
const NO_LIMIT = 600_000;

/** A note as rendered. */
export function rendered(markdown: Uint8Array): Rendered {
  return renderNote(markdown, new CpuLimit(NO_LIMIT))!;
}

/** A note as readers of a feed get it, or as a page shows it; the text is undefined if it has no references to pictures. */
export function shownNote(
  markdown: Uint8Array | string,
  folder: string,
  page?: Page,
): { html: string; excerpt: string; text: string | undefined } {
  const bytes = typeof markdown === 'string' ? new TextEncoder().encode(markdown) : markdown;
  const note = rendered(bytes);
  const { excerpt, pictures } = note;
  const text = pictures.length > 0 ? withBaseAt(pictures, exactText(bytes), folder) : undefined;
  return { html: placedHtml(note, folder, page), excerpt, text };
}

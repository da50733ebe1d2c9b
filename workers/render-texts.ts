import { renderNote } from '../src/read/note-html.ts';
import type { Rendered } from '../src/read/note-text.ts';

export interface UnrenderedTexts {
  /** Markdown in UTF-8. */
  readonly contents: readonly Uint8Array[];
  /** What relative references are relative to, with a slash at its end. */
  readonly base: string;
}

/** Run it with a time limit. */
export default function renderTexts({ contents, base }: UnrenderedTexts): Rendered[] {
  return contents.map((content) => renderNote(content, base));
}

import { renderNote } from '../src/read/note-html.ts';
import type { Rendered } from '../src/read/note-text.ts';

/** A text that is not in a feed. */
export interface LooseText {
  /** Markdown in UTF-8. */
  readonly content: Uint8Array;
  /** What relative references are relative to, with a slash at its end. */
  readonly base: string;
}

/** Run it with a time limit. */
export default function renderText({ content, base }: LooseText): Rendered {
  return renderNote(content, base);
}

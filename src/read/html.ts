import { shownText } from './text.ts';
import { withoutForbidden } from './xml.ts';

const REFERENCES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const CHARACTERS = new Map(
  Object.entries(REFERENCES).map(([character, reference]) => [reference, character]),
);

/** HTML that shows the text as it is, as content or in a quoted attribute. Characters XML forbids are removed. */
export function escapeHtml(text: string): string {
  return withoutForbidden(text).replace(/[&<>"']/g, (character) => REFERENCES[character] ?? character);
}

/** The text that HTML of `escapeHtml` shows. */
export function unescapeHtml(html: string): string {
  return html.replace(/&(?:amp|lt|gt|quot|#39);/g, (reference) => CHARACTERS.get(reference)!);
}

/** A note's text as it was written: what is shown when rendering fails or runs out of time. */
export function escapedText(markdown: Uint8Array): string {
  return `<pre>${escapeHtml(shownText(markdown))}</pre>`;
}

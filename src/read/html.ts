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

/** HTML of a text, for content and quoted attributes. Characters that XML forbids are removed. */
export function escapeHtml(text: string): string {
  return withoutForbidden(text).replace(/[&<>"']/g, (character) => REFERENCES[character] ?? character);
}

/** Undoes `escapeHtml`. */
export function unescapeHtml(html: string): string {
  return html.replace(/&(?:amp|lt|gt|quot|#39);/g, (reference) => CHARACTERS.get(reference)!);
}

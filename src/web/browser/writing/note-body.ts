import type { Box } from './box.ts';

/**
 * What a box holds as the body of a request: a form, even of a text alone. Undefined if it is empty. Its pictures must be prepared
 * (`settle`).
 * @param keepsText sends a text even if it only shows one picture; otherwise such a note is posted as a picture
 */
export function noteBody({ text, pictures }: Box, keepsText = false): FormData | undefined {
  const all = pictures?.now() ?? [];
  const { value = '' } = text ?? {};
  const isPicture = !keepsText && all.length === 1 && pictures!.wordsOf(value).trim() === '';
  const isBlank = value.trim() === '';
  if (isBlank && all.length === 0 && !keepsText) return undefined;
  const body = new FormData();
  // A file part, because browsers normalize the line breaks of a field.
  if (!isBlank && !isPicture) body.append('text', new Blob([value], { type: 'text/markdown' }), 'note.md');
  for (const { name, file, alt } of all) {
    body.append('file', file, name);
    if (alt.trim() !== '') body.append(`alt.${name}`, alt);
  }
  return body;
}

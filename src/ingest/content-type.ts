import { type NoteType, pictureType } from '../feeds/note-types.ts';
import { Refusal } from '../refusals.ts';

/**
 * The kind of note a `Content-Type` announces: `text/markdown` in UTF-8, or one of the four picture types.
 * @throws Refusal `unsupported_type` for any other, and for none
 */
export function noteTypeOf(contentType: string | undefined): NoteType {
  const [media = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const type = media.trim();
  if (type === 'text/markdown' && isUtf8(parameters)) return 'md';
  const picture = pictureType(type);
  if (picture !== undefined) return picture;
  throw new Refusal(
    'unsupported_type',
    'The Content-Type must be text/markdown (in UTF-8), image/png, image/jpeg, image/gif or image/webp.',
  );
}

function isUtf8(parameters: readonly string[]): boolean {
  const charset = parameters.map((part) => part.trim()).find((part) => part.startsWith('charset='));
  return charset === undefined || /^"?utf-?8"?$/.test(charset.slice('charset='.length));
}

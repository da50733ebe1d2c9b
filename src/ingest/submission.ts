import { shownFileName } from '../feeds/file-names.ts';
import type { NoteType, PictureType } from '../feeds/note-types.ts';
import { Refusal, type RefusalCode } from '../refusals.ts';
import type { NoteMeta } from '../storage/storage.ts';

/** A note as it was sent. Of a picture only its announced type is known. */
export interface Draft<Type extends NoteType = NoteType> {
  readonly type: Type;
  /** Obeys the rules of titles, tags, alternative texts and names. */
  readonly meta: NoteMeta;
  /** Of a text UTF-8. Not changed until it is stored. */
  readonly bytes: Uint8Array;
}

/** What is to be posted: a text, a picture, or, as a form, a text or none with its pictures. */
export interface Submission {
  readonly text: Draft<'md'> | undefined;
  readonly pictures: readonly Draft<PictureType>[];
  /** Several notes may come at once: the answer lists the pictures, and a refusal names the one to blame. */
  readonly isForm: boolean;
}

/** A refusal that names a picture, for example `attachment "a.png": there are two files of this name.` */
export function attachmentRefusal(name: string, reason: string, code: RefusalCode = 'invalid_body'): Refusal {
  return new Refusal(code, `${attachment(name)} ${reason}.`);
}

/** How a refusal begins that names a picture. */
export function attachment(name: string): string {
  return `attachment "${shownFileName(name)}":`;
}

/** The same refusal, with the part of a form to blame in front: a picture by its name, else the text. */
export function blaming(name: string | undefined, { code, message }: Refusal): Refusal {
  const part = name === undefined ? 'text:' : attachment(name);
  return new Refusal(code, `${part} ${message.charAt(0).toLowerCase()}${message.slice(1)}`);
}

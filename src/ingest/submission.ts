import { shownFileName } from '../feeds/file-names.ts';
import type { NoteMeta } from '../feeds/note.ts';
import type { NoteType, PictureType } from '../feeds/note-types.ts';
import { Refusal, type RefusalCode } from '../refusals.ts';

/** A note as it was sent. The type of a picture is not checked yet. */
export interface Draft<Type extends NoteType = NoteType> {
  readonly type: Type;
  /** Valid title, tags, alternative text and name. */
  readonly meta: NoteMeta;
  /** UTF-8 if a text. Must not change until it is stored. */
  readonly bytes: Uint8Array;
}

/** Notes to post: a text, a picture, or a form with a text, pictures or both. */
export interface Submission {
  readonly text: Draft<'md'> | undefined;
  readonly pictures: readonly Draft<PictureType>[];
  /** The answer lists the pictures, and a refusal names the note to blame. */
  readonly isForm: boolean;
  /** Names its note (`NoteMeta.key`). */
  readonly key?: string | undefined;
}

/** For example `attachment "a.png": there are two files of this name.` */
export function attachmentRefusal(name: string, reason: string, code: RefusalCode = 'invalid_body'): Refusal {
  return new Refusal(code, `${attachment(name)} ${reason}.`);
}

export function attachment(name: string): string {
  return `attachment "${shownFileName(name)}":`;
}

/** Puts the part of the form to blame in front of a refusal: a picture by its name, or the text. */
export function withBlame(name: string | undefined, { code, message, status }: Refusal): Refusal {
  const part = name === undefined ? 'text:' : attachment(name);
  return new Refusal(code, `${part} ${message.charAt(0).toLowerCase()}${message.slice(1)}`, { status });
}

import type { NoteType } from '../feeds/note-types.ts';
import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** A note as its editor needs it. */
export interface EditedNote {
  readonly feed: string;
  readonly id: string;
  readonly type: NoteType;
  /** The markdown as posted; undefined for a picture. */
  readonly text: string | undefined;
  /** The title that was set, not one taken from the text; undefined without one. */
  readonly title: string | undefined;
  readonly tags: readonly string[];
  readonly alt: string | undefined;
  /** The public page of the note, absolute. */
  readonly readUrl: string;
}

/** Where a note is edited and deleted, on its own page. */
export function noteEditor(_site: Site, _note: EditedNote): Html {
  return html``;
}

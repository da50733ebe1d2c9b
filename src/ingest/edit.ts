import type { Caller } from '../access/access.ts';
import { isNoteId, type NoteId } from '../feeds/names.ts';
import { tagsOf } from '../feeds/tags.ts';
import { ALT_LENGTH, oneLine } from '../feeds/text.ts';
import { TITLE_LENGTH } from '../feeds/title.ts';
import { Refusal } from '../refusals.ts';
import type { Feed, FeedLimits, NewNote, Note, Storage } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { NoteChanges } from './json-bodies.ts';
import type { Preparation } from './preparation.ts';
import type { Submission } from './submission.ts';

export interface EditingParts {
  readonly storage: Storage;
  readonly preparation: Preparation;
  readonly record: RecordEvent;
}

/** A note that has been replaced. */
export interface Replaced {
  readonly note: Note;
  /** The new pictures of a form, in order; undefined for a note that came alone. */
  readonly attachments: readonly NewNote[] | undefined;
}

/** The way in for changes to notes of a feed that the caller may write to. */
export class Editing {
  readonly #parts: EditingParts;

  constructor(parts: EditingParts) {
    this.#parts = parts;
  }

  /**
   * Replaces a note's bytes; everything else of it stays. A form may bring new pictures with a text.
   * @throws Refusal those of a post that apply to its body; `unsupported_type` also if the new type differs from the
   * note's; `not_found`
   */
  async replace(
    feed: Feed,
    id: string,
    { submission, limits }: { readonly submission: Submission; readonly limits: FeedLimits },
    caller: Caller,
  ): Promise<Replaced> {
    const { preparation, storage, record } = this.#parts;
    const prepared = await preparation.prepare(submission, caller);
    const { type, bytes, sha256 } = prepared.text ?? prepared.pictures[0]!;
    const note = await this.#note(feed, id);
    if (note.type !== type)
      throw new Refusal('unsupported_type', 'A note can only be replaced by one of the same type.');
    const added = prepared.text ? prepared.pictures : [];
    const replaced = await preparation.store(prepared, () =>
      storage.replace(feed, note.id, { type, bytes, sha256, added }, limits),
    );
    const edited = this.#edited(replaced, caller);
    for (const { type, bytes } of added)
      record({ name: 'note posted', kind: type, size: bytes.length }, caller);
    return { note: edited, attachments: submission.isForm ? added : undefined };
  }

  /**
   * Changes a note's title, alternative text or tags.
   * @throws Refusal `invalid_request`, `not_found`
   */
  async change(feed: Feed, id: string, changes: NoteChanges, caller: Caller): Promise<Note> {
    if (changes.title === undefined && changes.alt === undefined && changes.tags === undefined)
      throw new Refusal('invalid_request', 'There is nothing to change: give a title, an alt or tags.');
    const title = changes.title === undefined ? undefined : oneLine('title', changes.title, TITLE_LENGTH);
    const alt = changes.alt === undefined ? undefined : oneLine('alt', changes.alt, ALT_LENGTH);
    const tags = changes.tags === undefined ? undefined : tagsOf('tags', changes.tags);
    const note = await this.#note(feed, id);
    if (note.type === 'md' && alt !== undefined)
      throw new Refusal('invalid_request', 'Only a picture has an alt.');
    const changed = await this.#parts.storage.setMeta(feed, note.id, (meta) => ({
      ...meta,
      title: (title ?? meta.title) || undefined,
      alt: (alt ?? meta.alt) || undefined,
      tags: tags ?? meta.tags,
    }));
    return this.#edited(changed, caller);
  }

  /** @throws Refusal `not_found` */
  async remove(feed: Feed, id: string, caller: Caller): Promise<void> {
    const note = await this.#note(feed, id);
    if (!(await this.#parts.storage.remove(feed, note.id))) notFound();
    this.#parts.record({ name: 'note deleted', kind: note.type, size: note.size }, caller);
  }

  #edited(note: Note | undefined, caller: Caller): Note {
    if (note === undefined) return notFound();
    this.#parts.record({ name: 'note edited', kind: note.type, size: note.size }, caller);
    return note;
  }

  async #note({ name }: Feed, id: string): Promise<Note> {
    const note = isNoteId(id) ? await this.#parts.storage.note(name, id as NoteId) : undefined;
    return note ?? notFound();
  }
}

function notFound(): never {
  throw new Refusal('not_found', 'There is no such note.');
}

import type { Caller } from '../access/access.ts';
import type { Feed } from '../feeds/feed.ts';
import { isNoteId, type NoteId } from '../feeds/names.ts';
import type { NewNote, Note } from '../feeds/note.ts';
import { tagsOf } from '../feeds/tags.ts';
import { ALT_LENGTH, oneLine } from '../feeds/text.ts';
import { TITLE_LENGTH } from '../feeds/title.ts';
import { existing, notFound, Refusal } from '../refusals.ts';
import type { FeedLimits, Storage } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { NoteChanges } from './json-bodies.ts';
import type { Preparation } from './preparation.ts';
import type { Submission } from './submission.ts';

interface EditingParts {
  readonly storage: Storage;
  readonly preparation: Preparation;
  readonly record: RecordEvent;
}

interface Replaced {
  readonly note: Note;
  /** The new pictures of a form, in order; undefined for a note without a form. */
  readonly attachments: readonly NewNote[] | undefined;
}

/** Changes notes of a feed that the caller may write to. */
export class Editing {
  readonly #parts: EditingParts;

  constructor(parts: EditingParts) {
    this.#parts = parts;
  }

  /**
   * Replaces only the bytes of a note. A form may add pictures to a text.
   * @throws Refusal as for the body of a post; `unsupported_type` also for another type than the note's; `not_found`
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
    const edited = this.#recordEdit(feed, replaced, caller);
    for (const { type, bytes } of added)
      record({ name: 'note posted', feed: feed.name, kind: type, size: bytes.length }, caller);
    return { note: edited, attachments: submission.isForm ? added : undefined };
  }

  /** Changes a note's title, alternative text or tags. Throws a Refusal `invalid_request`, `not_found`. */
  async change(feed: Feed, id: string, changes: NoteChanges, caller: Caller): Promise<Note> {
    if (changes.title === undefined && changes.alt === undefined && changes.tags === undefined)
      throw new Refusal('invalid_request', 'There is nothing to change: give a title, an alt or tags.');
    const title = changes.title && oneLine('title', changes.title, TITLE_LENGTH);
    const alt = changes.alt && oneLine('alt', changes.alt, ALT_LENGTH);
    const tags = changes.tags && tagsOf(changes.tags);
    const note = await this.#note(feed, id);
    if (note.type === 'md' && alt !== undefined)
      throw new Refusal('invalid_request', 'Only a picture has an alt.');
    const changed = await this.#parts.storage.setMeta(feed, note.id, (meta) => ({
      ...meta,
      title: (title ?? meta.title) || undefined,
      alt: (alt ?? meta.alt) || undefined,
      tags: tags ?? meta.tags,
    }));
    return this.#recordEdit(feed, changed, caller);
  }

  /** @throws Refusal `not_found` */
  async remove(feed: Feed, id: string, caller: Caller): Promise<void> {
    const note = await this.#note(feed, id);
    if (!(await this.#parts.storage.remove(feed, note.id))) throw notFound('note');
    this.#parts.record({ name: 'note deleted', feed: feed.name, kind: note.type, size: note.size }, caller);
  }

  #recordEdit({ name: feed }: Feed, edited: Note | undefined, caller: Caller): Note {
    const note = existing(edited, 'note');
    this.#parts.record({ name: 'note edited', feed, kind: note.type, size: note.size }, caller);
    return note;
  }

  async #note(feed: Feed, id: string): Promise<Note> {
    return existing(isNoteId(id) ? await this.#parts.storage.note(feed, id as NoteId) : undefined, 'note');
  }
}

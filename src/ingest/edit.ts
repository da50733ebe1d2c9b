import type { Caller } from '../access/access.ts';
import type { Feed } from '../feeds/feed.ts';
import { isNoteId } from '../feeds/names.ts';
import type { NewNote, Note } from '../feeds/note.ts';
import { validTags } from '../feeds/tags.ts';
import { ALT_LENGTH, oneLine, TITLE_LENGTH } from '../feeds/text.ts';
import { existing, notFound, Refusal } from '../refusals.ts';
import type { JsonBodies } from '../schemas.ts';
import type { Storage } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { type OfNote, toFeed } from '../writing/command.ts';
import type { FeedLimits } from '../writing/limits.ts';
import type { Preparation } from './preparation.ts';
import type { Submission } from './submission.ts';

interface EditingParts {
  readonly storage: Storage;
  readonly preparation: Preparation;
  readonly limits: FeedLimits;
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
  async replace(feed: Feed, id: string, submission: Submission, caller: Caller): Promise<Replaced> {
    const { preparation, storage, limits, record } = this.#parts;
    const prepared = await preparation.prepare(submission, caller);
    const content = prepared.text ?? prepared.pictures[0]!;
    const notes = prepared.text ? prepared.pictures : [];
    const replaced = await preparation.store(prepared, () =>
      storage.write({ kind: 'replace', ...toNote(feed, id), content, notes, limits }),
    );
    const edited = this.#recordEdit(replaced?.note, feed, caller);
    for (const { type, bytes } of notes)
      record({ name: 'note posted', feed: feed.name, kind: type, size: bytes.length }, caller);
    return { note: edited, attachments: submission.isForm ? notes : undefined };
  }

  /** Changes a note's title, alternative text or tags. Throws a Refusal `invalid_request`, `not_found`. */
  async change(feed: Feed, id: string, changes: JsonBodies['NoteChanges'], caller: Caller): Promise<Note> {
    if (changes.title === undefined && changes.alt === undefined && changes.tags === undefined)
      throw new Refusal('invalid_request', 'There is nothing to change: give a title, an alt or tags.');
    const meta = {
      title: changes.title && oneLine('title', changes.title, TITLE_LENGTH),
      alt: changes.alt && oneLine('alt', changes.alt, ALT_LENGTH),
      tags: changes.tags && validTags(changes.tags),
    };
    const described = await this.#parts.storage.write({ kind: 'describe', ...toNote(feed, id), meta });
    return this.#recordEdit(described?.note, feed, caller);
  }

  /** @throws Refusal `not_found` */
  async remove(feed: Feed, id: string, caller: Caller): Promise<void> {
    const removed = await this.#parts.storage.write({ kind: 'remove', ...toNote(feed, id) });
    const { type: kind, size } = existing(removed?.note, 'note');
    this.#parts.record({ name: 'note deleted', feed: feed.name, kind, size }, caller);
  }

  #recordEdit(edited: Note | undefined, { name: feed }: Feed, caller: Caller): Note {
    const note = existing(edited, 'note');
    this.#parts.record({ name: 'note edited', feed, kind: note.type, size: note.size }, caller);
    return note;
  }
}

/** @throws Refusal `not_found` for an id that no note can have */
function toNote(feed: Feed, id: string): OfNote {
  if (!isNoteId(id)) throw notFound('note');
  return { ...toFeed(feed), id };
}

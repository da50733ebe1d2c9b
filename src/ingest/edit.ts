import type { Caller } from '../access/access.ts';
import type { Feed } from '../feeds/feed.ts';
import { optionalExpiry } from '../feeds/keeping.ts';
import { isNoteId } from '../feeds/names.ts';
import type { NewNote, Note } from '../feeds/note.ts';
import { validTags } from '../feeds/tags.ts';
import { ALT_LENGTH, oneLine, TITLE_LENGTH } from '../feeds/text.ts';
import { existing, notFound, Refusal } from '../refusals.ts';
import type { JsonBodies } from '../schemas.ts';
import type { Storage, Written } from '../storage/storage.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { type Describe, type OfNote, toFeed } from '../writing/command.ts';
import type { FeedLimits } from '../writing/limits.ts';
import type { Preparation } from './preparation.ts';
import type { Submission } from './submission.ts';

type IfMatch = OfNote['ifMatch'];

interface EditingParts {
  readonly storage: Storage;
  readonly preparation: Preparation;
  readonly limits: FeedLimits;
  readonly record: RecordEvent;
}

/** A note as a change left it. */
interface Changed {
  readonly feed: Feed;
  readonly note: Note;
}

interface Replaced extends Changed {
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
   * Replaces the bytes of a note, and what else changes with them. A form may add pictures to a text.
   * @param ifMatch see `OfFeed`
   * @throws Refusal as for the body of a post; `unsupported_type` also for another type than the note's; `invalid_request`,
   * `not_found`, `changed`
   */
  async replace(
    feed: Feed,
    id: string,
    submission: Submission,
    caller: Caller,
    ifMatch?: IfMatch,
    changes?: JsonBodies['NoteChanges'],
  ): Promise<Replaced> {
    const { preparation, storage, limits, record } = this.#parts;
    const describe = changes && checkedChanges(changes);
    const prepared = await preparation.prepare(submission, caller);
    const content = prepared.text ?? prepared.pictures[0]!;
    const { pixels } = content.meta;
    const notes = prepared.text ? prepared.pictures : [];
    const command = { ...toNote(feed, id, ifMatch), content, pixels, describe, notes, limits };
    const replaced = await preparation.store(prepared, () => storage.write({ kind: 'replace', ...command }));
    const edited = this.#recordEdit(replaced, caller);
    for (const { type, bytes } of notes)
      record({ name: 'note posted', feed: feed.name, kind: type, size: bytes.length }, caller);
    return { ...edited, attachments: submission.isForm ? notes : undefined };
  }

  /** Changes what is kept beside a note's bytes. Throws a Refusal `invalid_request`, `not_found`, `changed`. */
  async change(
    feed: Feed,
    id: string,
    changes: JsonBodies['NoteChanges'],
    caller: Caller,
    ifMatch?: IfMatch,
  ): Promise<Changed> {
    const { title, alt, tags, expires } = changes;
    if ([title, alt, tags, expires].every((value) => value === undefined))
      throw new Refusal('invalid_request', 'There is nothing to change: give title, alt, tags or expires.');
    const meta = checkedChanges(changes);
    const command = { kind: 'describe', ...toNote(feed, id, ifMatch), meta } as const;
    return this.#recordEdit(await this.#parts.storage.write(command), caller);
  }

  /** @throws Refusal `not_found`, `changed` */
  async remove(feed: Feed, id: string, caller: Caller, ifMatch?: IfMatch): Promise<void> {
    const removed = await this.#parts.storage.write({ kind: 'remove', ...toNote(feed, id, ifMatch) });
    const { type: kind, size } = existing(removed?.note, 'note');
    this.#parts.record({ name: 'note deleted', feed: feed.name, kind, size }, caller);
  }

  #recordEdit(written: Written | undefined, caller: Caller): Changed {
    const { feed, note = undefined } = written ?? {};
    if (!feed || !note) throw notFound('note');
    this.#parts.record({ name: 'note edited', feed: feed.name, kind: note.type, size: note.size }, caller);
    return { feed, note };
  }
}

/** @throws Refusal `invalid_request` */
function checkedChanges({ title, alt, tags, expires }: JsonBodies['NoteChanges']): Describe['meta'] {
  return {
    title: title && oneLine('title', title, TITLE_LENGTH),
    alt: alt && oneLine('alt', alt, ALT_LENGTH),
    tags: tags && validTags(tags),
    expires: expires === undefined ? undefined : (optionalExpiry(expires) ?? 0),
  };
}

/** @throws Refusal `not_found` for an id that no note can have */
function toNote(feed: Feed, id: string, ifMatch?: IfMatch): OfNote {
  if (!isNoteId(id)) throw notFound('note');
  return { ...toFeed(feed), id, ifMatch };
}

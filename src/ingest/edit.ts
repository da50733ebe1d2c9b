import { z } from 'zod';
import { isNoteId, type NoteId } from '../feeds/names.ts';
import { oneLine } from '../feeds/text.ts';
import { TITLE_LENGTH } from '../feeds/title.ts';
import { Refusal } from '../refusals.ts';
import type { Feed, NewNote, Note, Storage } from '../storage/storage.ts';
import type { Identified, RecordEvent } from '../telemetry/events.ts';
import { type JsonRequest, jsonBody } from './json-body.ts';
import type { NoteBodyRules } from './note-body.ts';
import { ALT_LENGTH } from './note-headers.ts';
import type { PostRequest } from './post.ts';
import type { Preparation } from './preparation.ts';
import { admitReplacement } from './submission.ts';

export interface EditingParts extends NoteBodyRules {
  readonly storage: Storage;
  readonly preparation: Preparation;
  readonly record: RecordEvent;
}

/** A note that has been replaced. */
export interface Replaced {
  readonly note: Note;
  /** The new pictures of a form, in order; undefined for a note that was the body itself. */
  readonly attachments: readonly NewNote[] | undefined;
}

/** What may be changed of a note beside its bytes; an empty string removes. */
export const NOTE_CHANGES = z.object({ title: z.string().optional(), alt: z.string().optional() });

/** The way in for changes to notes. The caller has made sure that the request may write to the feed. */
export class Editing {
  readonly #parts: EditingParts;

  constructor(parts: EditingParts) {
    this.#parts = parts;
  }

  /**
   * Replaces a note's bytes; everything else of it stays. A form may bring new pictures with a text.
   * @throws Refusal whatever the contract says of a replaced note: `unsupported_type` also for another type than the
   * note's; `not_found`
   */
  async replace(feed: Feed, id: string, request: PostRequest): Promise<Replaced> {
    const { preparation, storage, record } = this.#parts;
    const submission = await admitReplacement(request, this.#parts)();
    const prepared = await preparation.prepare(submission, request);
    const { type, bytes, sha256 } = prepared.text ?? prepared.pictures[0]!;
    const added = prepared.text ? prepared.pictures : [];
    const note = await this.#note(feed, id);
    if (note.type !== type)
      throw new Refusal('unsupported_type', 'A note can only be replaced by one of the same type.');
    const replaced = await preparation.store(prepared, () =>
      storage.replace(feed, note.id, { type, bytes, sha256, added }),
    );
    const edited = this.#edited(replaced, request);
    for (const { type, bytes } of added)
      record({ name: 'note posted', kind: type, size: bytes.length }, request);
    return { note: edited, attachments: submission.isForm ? added : undefined };
  }

  /**
   * Changes a note's title or alternative text.
   * @throws Refusal `invalid_body`, `invalid_request`, `not_found`
   */
  async change(feed: Feed, id: string, request: JsonRequest & Identified): Promise<Note> {
    const body = await jsonBody(request, NOTE_CHANGES);
    if (body.title === undefined && body.alt === undefined)
      throw new Refusal('invalid_request', 'There is nothing to change: give a title or an alt.');
    const title = body.title === undefined ? undefined : oneLine('title', body.title, TITLE_LENGTH);
    const alt = body.alt === undefined ? undefined : oneLine('alt', body.alt, ALT_LENGTH);
    const note = await this.#note(feed, id);
    if (note.type === 'md' && alt !== undefined)
      throw new Refusal('invalid_request', 'Only a picture has an alt.');
    const changed = await this.#parts.storage.setMeta(feed, note.id, (meta) => ({
      ...meta,
      title: (title ?? meta.title) || undefined,
      alt: (alt ?? meta.alt) || undefined,
    }));
    return this.#edited(changed, request);
  }

  /** @throws Refusal `not_found` */
  async remove(feed: Feed, id: string, request: Identified): Promise<void> {
    const note = await this.#note(feed, id);
    if (!(await this.#parts.storage.remove(feed, note.id))) notFound();
    this.#parts.record({ name: 'note deleted', kind: note.type, size: note.size }, request);
  }

  #edited(note: Note | undefined, request: Identified): Note {
    if (note === undefined) return notFound();
    this.#parts.record({ name: 'note edited', kind: note.type, size: note.size }, request);
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

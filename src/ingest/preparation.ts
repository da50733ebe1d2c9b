import inspect, { type Inspection } from '../../workers/inspect-picture.ts';
import type { Caller } from '../access/access.ts';
import { MAX_TEXT_BYTES } from '../config.ts';
import type { NoteIds } from '../feeds/ids.ts';
import { noteFile } from '../feeds/names.ts';
import type { PictureType } from '../feeds/note-types.ts';
import { Gate } from '../gate.ts';
import { Refusal } from '../refusals.ts';
import type { NewNote, NoteMeta } from '../storage/storage.ts';
import type { WorkerPool } from '../worker-pool.ts';
import type { PictureTexts, TextSender } from './picture-texts.ts';
import { attachmentRefusal, blaming, type Draft, type Submission } from './submission.ts';

/**
 * Submissions with pictures that are checked, and those that are stored, at once. The answers of those that one sync
 * has made durable leave together, and the next uploads of their clients arrive together, so the event loop is busy in
 * bursts, which readers wait for. While 64 connections post pictures of 200 KB, the p99 of RSS and of 304s is 1.5 to
 * 2.3 times its idle value with 8 at once and 2.7 to 3.4 times without a bound; in exchange a sixth fewer pictures
 * are stored in a second.
 */
const PICTURES_AT_ONCE = 8;

/**
 * Up to this size a picture is inspected on the event loop. There it costs the loop 0.5 µs per KB; the trip to the
 * pool costs 12 to 18 µs, or 8 to 14 µs with 8 tasks per thread, nearly whatever the size. So 16 KB is cheaper on the
 * loop (7 to 9 µs), 32 KB is not (16 µs). Measured by `bench/inspect-threshold.ts`, 2 cores, 1 to 32 at once.
 */
export const INLINE_MAX_BYTES = 24 * 1024;

export interface PreparationParts {
  readonly checks: WorkerPool;
  readonly texts: PictureTexts;
  readonly ids: NoteIds;
}

/** Who sends what is prepared. */
export type PreparingCaller = TextSender & Pick<Caller, 'sender'>;

/** A submission that obeys all rules, ready to be stored. */
export interface Prepared {
  readonly text: NewNote | undefined;
  readonly pictures: readonly NewNote[];
  /** All of them in the order in which they are stored: pictures first, so that a text never shows without them. */
  readonly notes: readonly NewNote[];
  readonly isForm: boolean;
}

/** Makes notes of what was submitted: checks the pictures, and gives the text the names they are stored under. */
export class Preparation {
  readonly #parts: PreparationParts;
  readonly #checking = new Gate(PICTURES_AT_ONCE);
  readonly #storing = new Gate(PICTURES_AT_ONCE);

  constructor(parts: PreparationParts) {
    this.#parts = parts;
  }

  /**
   * The notes of a submission, with new ids and the name of who sends them.
   * @throws Refusal `empty_note`, `unsupported_type` for a picture of another type than announced, `invalid_body` for a
   * text that takes too much to read, `too_large` for one that is too long, `busy`
   */
  async prepare(submission: Submission, caller: PreparingCaller): Promise<Prepared> {
    const { text: draft, pictures: drafts, isForm } = submission;
    if (draft !== undefined && drafts.length === 0) checkText(draft.bytes);
    const inspected = drafts.length > 0 ? await this.#checking.run(() => this.#check(submission)) : [];
    const { sender } = caller;
    const pictures = drafts.map(({ type, meta, bytes }, i) => ({
      type,
      meta: { ...meta, sender, pixels: pixelsOf(inspected[i]!, bytes) },
      bytes,
      id: this.#nextId(),
      sha256: inspected[i]!.sha256,
    }));
    if (draft === undefined) return { text: undefined, pictures, notes: pictures, isForm };
    // Its hash is left to the first reader of the file: most texts are only read in feeds and lists.
    const bytes = pictures.length > 0 ? await this.#place(draft, pictures, caller) : draft.bytes;
    const text = { type: draft.type, meta: { ...draft.meta, sender }, id: this.#nextId(), bytes };
    return { text, pictures, notes: [...pictures, text], isForm };
  }

  /** Has prepared notes stored when their turn has come. Of a form, a refusal names the part that has no room. */
  async store<T>({ pictures, notes, isForm }: Prepared, store: () => Promise<T>): Promise<T> {
    try {
      return await (pictures.length > 0 ? this.#storing.run(store) : store());
    } catch (cause) {
      const note = isForm && cause instanceof Refusal && notes[cause.position ?? -1];
      throw note ? blaming(note.meta.name, cause) : cause;
    }
  }

  #check({ pictures, isForm }: Submission): Promise<Inspection[]> {
    return Promise.all(pictures.map((picture) => this.#checkPicture(picture, isForm)));
  }

  async #checkPicture({ type, meta, bytes }: Draft<PictureType>, isForm: boolean): Promise<Inspection> {
    const inspection = await inspectPicture(this.#parts.checks, type, bytes);
    if (inspection.signed) return inspection;
    const reason = 'the bytes are not a picture of the type that its Content-Type says';
    if (isForm) throw attachmentRefusal(meta.name ?? '', reason, 'unsupported_type');
    throw new Refusal('unsupported_type', 'The bytes are not a picture of the type that Content-Type says.');
  }

  async #place(text: Draft, pictures: readonly NewNote[], sender: TextSender): Promise<Uint8Array> {
    const placed = pictures.map(({ id, type, meta }) => ({
      name: meta.name ?? '',
      file: noteFile(id, type),
    }));
    const bytes = await this.#parts.texts.place(text.bytes, placed, sender);
    if (bytes.length <= MAX_TEXT_BYTES) return bytes;
    throw new Refusal(
      'too_large',
      `The text may have at most ${MAX_TEXT_BYTES} bytes with the names that its pictures are stored under.`,
    );
  }

  #nextId() {
    return this.#parts.ids.next();
  }
}

/** The size of a picture, with the bytes that it is true of. */
function pixelsOf({ pixels }: Inspection, bytes: Uint8Array): NoteMeta['pixels'] {
  return pixels && { ...pixels, bytes: bytes.length };
}

function checkText(text: Uint8Array): void {
  if (text.length > MAX_TEXT_BYTES)
    throw new Refusal('too_large', `A text may have at most ${MAX_TEXT_BYTES} bytes.`);
  if (Buffer.from(text.buffer, text.byteOffset, text.length).toString().trim() === '')
    throw new Refusal('empty_note', 'The note is empty.');
}

/**
 * Checks the signature of a picture and hashes it, on the event loop or on a thread, whichever costs the loop less.
 * The bytes must not change before the promise settles. Fails with `busy` when too many tasks wait for the pool.
 */
export async function inspectPicture(
  pool: WorkerPool,
  type: PictureType,
  bytes: Uint8Array,
): Promise<Inspection> {
  if (bytes.length <= INLINE_MAX_BYTES) return inspect({ type, bytes });
  return (await pool.run('inspect-picture', { type, bytes })) as Inspection;
}

import { hash } from 'node:crypto';
import pLimit from 'p-limit';
import type { Caller } from '../access/access.ts';
import type { NoteIds } from '../feeds/ids.ts';
import { MAX_TEXT_BYTES, noteTooLarge } from '../feeds/limits.ts';
import { noteFile } from '../feeds/names.ts';
import type { NewNote, NoteMeta } from '../feeds/note.ts';
import { type PictureType, typeName } from '../feeds/note-types.ts';
import { type Inspection, inspect, wrongFormat } from '../feeds/picture-bytes.ts';
import { Refusal } from '../refusals.ts';
import type { OperatorRecords } from '../storage/operator-records.ts';
import type { WorkerPool } from '../worker-pool.ts';
import { refuseBlocked } from './blocks.ts';
import type { PictureTexts, TextSender } from './picture-texts.ts';
import { type Draft, type Submission, withBlame } from './submission.ts';

/**
 * Limit of concurrent checks of submissions with pictures, and of concurrent writes. One sync answers many posts at once,
 * and the next uploads of these clients arrive together, so the event loop is busy in bursts that delay readers. While 64
 * connections post pictures of 200 KB, the p99 of RSS and of 304s is 1.5 to 2.3 times its idle value with this limit and
 * 2.7 to 3.4 times without; throughput is a sixth lower.
 */
const PICTURES_AT_ONCE = 8;

/**
 * Pictures up to this size are inspected on the event loop: that takes 0.5 µs per KB, and a task for the pool 12 to 18 µs
 * of the loop, or 8 to 14 µs with 8 tasks per thread, for any size. Measured by `bench/inspect-threshold.ts` on 2 cores,
 * 1 to 32 at once: 16 KB take 7 to 9 µs on the loop, 32 KB 16 µs.
 */
export const INLINE_MAX_BYTES = 24 * 1024;

interface PreparationParts {
  readonly checks: WorkerPool;
  readonly texts: PictureTexts;
  readonly ids: NoteIds;
  readonly records: Pick<OperatorRecords, 'find'>;
}

/** A checked submission, ready to be stored. */
interface Prepared {
  readonly text: NewNote | undefined;
  readonly pictures: readonly NewNote[];
  /** All notes in the order of storing: pictures first, so that the text never appears without them. */
  readonly notes: readonly NewNote[];
  readonly isForm: boolean;
}

/** Makes notes of submissions: checks the pictures, and writes their stored names into the text. */
export class Preparation {
  readonly #parts: PreparationParts;
  readonly #checking = pLimit(PICTURES_AT_ONCE);
  readonly #storing = pLimit(PICTURES_AT_ONCE);

  constructor(parts: PreparationParts) {
    this.#parts = parts;
  }

  /**
   * @throws Refusal `empty_note`, `unsupported_type` for a picture of another type than declared, `invalid_body` for a text
   * that is too expensive to parse, `too_large`, `busy`, `blocked`
   */
  async prepare(submission: Submission, caller: TextSender & Pick<Caller, 'sender'>): Promise<Prepared> {
    const { text: draft, pictures: drafts, isForm } = submission;
    if (draft !== undefined && drafts.length === 0) checkText(draft.bytes);
    const inspected =
      drafts.length === 0
        ? []
        : await this.#checking(() => Promise.all(drafts.map((draft) => this.#checkPicture(draft, isForm))));
    await this.#refuseBlocked(drafts, inspected, isForm);
    const { sender } = caller;
    const made: NewNote[] = drafts.map(({ type, meta, bytes }, i) => ({
      type,
      meta: { ...meta, sender, pixels: pixelsOf(inspected[i]!, bytes) },
      bytes,
      id: this.#parts.ids.next(),
      sha256: inspected[i]!.sha256,
    }));
    const keyed = keyOf(submission, made);
    if (draft === undefined) {
      const pictures = keyed ? made.with(0, withMeta(made[0]!, keyed)) : made;
      return { text: undefined, pictures, notes: pictures, isForm };
    }
    // Not hashed here: only reads of its file need the hash of a text, and most texts are read in feeds and lists.
    const bytes = made.length > 0 ? await this.#place(draft, made, caller) : draft.bytes;
    const meta = { ...draft.meta, sender, ...keyed };
    const text = { type: draft.type, meta, id: this.#parts.ids.next(), bytes };
    return { text, pictures: made, notes: [...made, text], isForm };
  }

  /** Calls `store` when it is the turn of these notes. For a form, a refusal names the note that does not fit. */
  async store<T>({ pictures, notes, isForm }: Prepared, store: () => Promise<T>): Promise<T> {
    try {
      return await (pictures.length > 0 ? this.#storing(store) : store());
    } catch (cause) {
      throw isForm ? withBlamedPart(notes, cause) : cause;
    }
  }

  async #checkPicture({ type, meta, bytes }: Draft<PictureType>, isForm: boolean): Promise<Inspection> {
    const inspection = await inspectPicture(this.#parts.checks, bytes);
    if (inspection.type === type) return inspection;
    const refusal = new Refusal('unsupported_type', wrongFormat(bytes, typeName(type)));
    throw isForm ? withBlame(meta.name, refusal) : refusal;
  }

  /** Refuses pictures that the operator has blocked. It has to run before a picture is put into an image store. */
  async #refuseBlocked(
    drafts: readonly Draft<PictureType>[],
    inspected: readonly Inspection[],
    isForm: boolean,
  ): Promise<void> {
    if (drafts.length === 0) return;
    const hashes = inspected.map(({ sha256 }) => sha256);
    await refuseBlocked(this.#parts.records, hashes).catch((cause) => {
      throw isForm ? withBlamedPart(drafts, cause) : cause;
    });
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
}

/** An error with the name of the part of a form that does not fit, if it says which one. */
function withBlamedPart(parts: readonly Pick<Draft, 'meta'>[], cause: unknown): unknown {
  const part = cause instanceof Refusal && parts[cause.position ?? -1];
  return part ? withBlame(part.meta.name, cause) : cause;
}

/** The size of a picture in pixels, and the bytes of the file with this size. */
export function pixelsOf({ pixels }: Inspection, bytes: Uint8Array): NoteMeta['pixels'] {
  return pixels && { ...pixels, bytes: bytes.length };
}

/** The key of a submission, and what answers it if it is sent again; undefined without a key. */
function keyOf(
  { key, text, pictures: drafts, isForm }: Submission,
  pictures: readonly NewNote[],
): Pick<NoteMeta, 'key' | 'posted'> | undefined {
  if (key === undefined) return undefined;
  const sent = (draft: Draft, sha256: string | undefined) => {
    const { title, tags, alt, name, unlisted } = draft.meta;
    const bytes = sha256 ?? hash('sha256', draft.bytes, 'base64url');
    // Without the expiry, because a duration means another moment at each attempt. `unlisted` is left out if it is not set, because
    // hashes that are stored from before that header existed do not include it.
    return [draft.type, bytes, title, tags, alt, name, ...(unlisted ? [unlisted] : [])];
  };
  const notes = drafts.map((draft, i) => sent(draft, pictures[i]!.sha256));
  // A text of 100 KB takes 0.1 ms.
  if (text !== undefined) notes.push(sent(text, undefined));
  const attachments = isForm ? pictures.map(({ id, type }) => noteFile(id, type)) : undefined;
  return { key, posted: { hash: hash('sha256', JSON.stringify(notes), 'base64url'), attachments } };
}

function withMeta(note: NewNote, more: Partial<NoteMeta>): NewNote {
  return { ...note, meta: { ...note.meta, ...more } };
}

function checkText(text: Uint8Array): void {
  if (text.length > MAX_TEXT_BYTES) throw noteTooLarge('md', MAX_TEXT_BYTES);
  refuseBlank(text);
}

/** @throws Refusal `empty_note` */
export function refuseBlank(text: Uint8Array): void {
  if (Buffer.from(text.buffer, text.byteOffset, text.length).toString().trim() === '')
    throw new Refusal('empty_note', 'The note is empty.');
}

/**
 * Finds the type of a picture and hashes it, on the event loop or on a thread, whichever is cheaper for the loop.
 * The bytes must not change meanwhile. Throws a Refusal `busy` if too many tasks wait for the pool.
 */
export async function inspectPicture(pool: WorkerPool, bytes: Uint8Array): Promise<Inspection> {
  if (bytes.length <= INLINE_MAX_BYTES) return inspect(bytes);
  return (await pool.run('inspect-picture', bytes)) as Inspection;
}

import { createHash, randomBytes, randomInt } from 'node:crypto';
import { mediaType, NOTE_TYPES, type NoteType } from '../../src/feeds/note-types.ts';
import { picture } from './pictures.ts';

/** What a list must say of a note. */
interface Shown {
  readonly type: string;
  readonly size: number;
  readonly title: string;
  readonly alt?: string;
  readonly name?: string;
  readonly tags: readonly string[];
}

/** A note made to be posted. */
export interface SentNote {
  /** Tells it from every other one: the hash of its bytes. */
  readonly key: string;
  readonly feed: string;
  readonly shown: Shown;
  readonly headers: Record<string, string>;
  readonly bytes: Buffer;
}

/** Bytes of the pictures made: one block of a disk and less, a worker's job, several segments of a socket. */
const PICTURE_SIZES = [40, 4_000, 20_000, 70_000, 400_000];

/** Makes notes of all types and sizes, half of them with metadata, and remembers what it made. */
export class SentNotes {
  readonly #made = new Map<string, Omit<SentNote, 'bytes'>>();

  get size(): number {
    return this.#made.size;
  }

  /** A note unlike all before. */
  next(feed: string): SentNote {
    const number = this.#made.size;
    const type = number % 2 === 0 ? 'md' : oneOf(NOTE_TYPES.slice(1));
    const bytes = type === 'md' ? text(number) : pictureOf(type);
    const meta = randomInt(2) === 0 ? undefined : metaOf(type, number);
    const shown = {
      type: mediaType(type),
      size: bytes.length,
      title: meta?.title ?? (type === 'md' ? `note ${number}` : ''),
      ...(meta?.alt !== undefined && { alt: meta.alt, name: meta.name }),
      tags: meta ? ['red', `n${number}`] : [],
    };
    const headers: Record<string, string> = { 'content-type': mediaType(type) };
    if (meta) Object.assign(headers, { 'x-note-title': meta.title, 'x-note-tags': shown.tags.join() });
    if (meta?.alt !== undefined) Object.assign(headers, { 'x-note-alt': meta.alt, 'x-note-name': meta.name });
    const note = { key: keyOf(bytes), feed, shown, headers };
    this.#made.set(note.key, note);
    return { ...note, bytes };
  }

  /** The note of these bytes; undefined where no such note was made. */
  find(bytes: Uint8Array): Omit<SentNote, 'bytes'> | undefined {
    return this.#made.get(keyOf(bytes));
  }
}

/** The members of a listed note that follow from what was sent. */
export function shownOf({ type, size, title, alt, name, tags }: Shown): Shown {
  return { type, size, title, ...(alt !== undefined && { alt }), ...(name !== undefined && { name }), tags };
}

function metaOf(type: NoteType, number: number) {
  const title = `title ä ${number}`;
  return type === 'md' ? { title } : { title, alt: `alt ${number}`, name: `${number}.bin` };
}

function text(number: number): Buffer {
  return Buffer.from(`note ${number}\n${randomBytes(oneOf([4, 400, 8_000, 40_000])).toString('hex')}\n`);
}

function pictureOf(type: Exclude<NoteType, 'md'>): Buffer {
  const bytes = randomBytes(oneOf(PICTURE_SIZES));
  bytes.set(picture(type, 16));
  return bytes;
}

function oneOf<T>(values: readonly T[]): T {
  return values[randomInt(values.length)] as T;
}

function keyOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}

import { dateOfId } from '../../feeds/ids.ts';
import { type NoteFile, parseNoteFile } from '../../feeds/names.ts';
import { type Ordered, oldestFirst, type Position, sortKeyOf } from '../../feeds/order.ts';
import { metaFile, noteOfMetaFile } from './names.ts';
import { type Stamp, UNSEEN } from './stamp.ts';

/**
 * One state of a note. A note that changes gets a new entry, so what is kept of an entry is never out of date. Only the
 * stamps of an `UNSEEN` file are set later: by the first read or edit.
 */
export interface Entry extends Ordered {
  readonly file: NoteFile;
  /** Bytes of the note's file at the look or write that made the entry. It never changes, because sums are made of it. */
  readonly size: number;
  /** State of the note's file. */
  stamp: Stamp;
  /** State of its metadata file; undefined without one. */
  meta: Stamp | undefined;
  /** SHA-256 of the bytes in base64url, if the post told it. */
  readonly sha256?: string | undefined;
  /** An edit of the note began, so what is read of the entry from then on may be taken back. */
  isEdited?: boolean;
  /** When it came, ms since the epoch, if that is not to be read from its file (`ArrivalLog`). */
  arrivedAt?: number | undefined;
}

declare const brand: unique symbol;
/**
 * A note that nobody has asked for, if its name says its date: the name of its file or, if it has metadata, of its
 * metadata file. It takes a third of the memory of an entry.
 */
type Unasked = string & { readonly [brand]: 'Unasked' };

/** Such a note with the bytes of its file. */
export interface UnaskedNote {
  readonly unasked: Unasked;
  readonly size: number;
}

/** The note of a file of `size` bytes, with or without a metadata file, whose name must say its date. */
export function unasked(file: NoteFile, hasMeta: boolean, size: number): UnaskedNote {
  return { unasked: (hasMeta ? metaFile(file) : file) as string as Unasked, size };
}

/** The most notes of a piece: what adding or removing one moves in memory. */
const PIECE_NOTES = 1024;

interface Piece {
  readonly notes: (Entry | Unasked)[];
  /** The size that each note is counted with. */
  readonly sizes: number[];
  /** The moment from which on all of them have expired; undefined if it has to be looked up. */
  expires?: number | undefined;
}

/** When a note expires, ms since the epoch; infinite if it does not. */
export type ExpiryOf = (file: NoteFile) => number;

/** The notes of a feed, oldest first. They are kept in pieces, so that a change of a long list is fast. */
export class NoteList {
  /** At least one piece. If there are several, none of them is empty. */
  readonly #pieces: Piece[] = [];
  /** All entries of the list. */
  readonly #entries = new Map<NoteFile, Entry>();
  readonly #expiryOf: ExpiryOf;
  size = 0;
  /** How many of the notes are pictures. */
  imageCount = 0;
  /** Bytes of the files of all notes. */
  byteCount = 0;

  constructor(
    notes: readonly (Entry | UnaskedNote)[] = [],
    expiryOf: ExpiryOf = () => Number.POSITIVE_INFINITY,
  ) {
    this.#expiryOf = expiryOf;
    const placed = notes.map((one) => {
      const note = 'unasked' in one ? one.unasked : one;
      return { note, size: one.size, place: placeIn(note) };
    });
    placed.sort((a, b) => oldestFirst(a.place, b.place));
    for (let at = 0; at < placed.length || at === 0; at += PIECE_NOTES) {
      const piece = placed.slice(at, at + PIECE_NOTES);
      this.#pieces.push({ notes: piece.map(({ note }) => note), sizes: piece.map(({ size }) => size) });
    }
    for (const { note, size, place } of placed) {
      if (typeof note !== 'string') this.#entries.set(note.file, note);
      this.#count(place, size, 1);
    }
  }

  *files(): Generator<NoteFile> {
    for (const { notes } of this.#pieces) for (const note of notes) yield fileOf(note);
  }

  *filesWithMeta(): Generator<NoteFile> {
    for (const { notes } of this.#pieces) for (const note of notes) if (hasMeta(note)) yield fileOf(note);
  }

  hasMeta(): boolean {
    return this.#pieces.some(({ notes }) => notes.some(hasMeta));
  }

  get(file: NoteFile): Entry | undefined {
    const known = this.#entries.get(file);
    if (known) return known;
    const parsed = parseNoteFile(file);
    const createdAt = parsed && dateOfId(parsed.id);
    return createdAt === undefined ? undefined : this.#find(file, { ...parsed!, createdAt });
  }

  has(file: NoteFile): boolean {
    return this.sizeOf(file) !== undefined;
  }

  /** The size that a note is counted with, bytes; undefined if it is not in the list. */
  sizeOf(file: NoteFile): number | undefined {
    const known = this.#entries.get(file);
    if (known) return known.size;
    const [piece, at] = this.#unaskedAt(file) ?? [];
    return piece?.sizes[at!];
  }

  /** Whether a note has a metadata file; undefined if it is not in the list. */
  hasMetaOf(file: NoteFile): boolean | undefined {
    const known = this.#entries.get(file);
    if (known) return hasMeta(known);
    const [piece, at] = this.#unaskedAt(file) ?? [];
    return piece && hasMeta(piece.notes[at!]!);
  }

  /** The entry of a file, if somebody has asked for the note. */
  getAsked(file: NoteFile): Entry | undefined {
    return this.#entries.get(file);
  }

  /** Adds an entry in place of the one of the same file; returns that. */
  put(entry: Entry): Entry | undefined {
    const replaced = this.#entries.get(entry.file) ?? this.#find(entry.file, entry);
    if (replaced) this.remove(entry.file);
    const [p, at] = this.#countBefore(entry);
    const piece = this.#pieces[p]!;
    piece.notes.splice(at, 0, entry);
    piece.sizes.splice(at, 0, entry.size);
    piece.expires = undefined;
    if (piece.notes.length > PIECE_NOTES) {
      // At the end of the list, where most come, the full piece stays as it is.
      const isLast = p === this.#pieces.length - 1 && at === PIECE_NOTES;
      const end = isLast ? at : PIECE_NOTES / 2;
      this.#pieces.splice(p + 1, 0, { notes: piece.notes.splice(end), sizes: piece.sizes.splice(end) });
    }
    this.#entries.set(entry.file, entry);
    this.#count(entry, entry.size, 1);
    return replaced;
  }

  remove(file: NoteFile): Entry | undefined {
    const entry = this.get(file);
    if (!entry) return undefined;
    const [p, at] = this.#countBefore(entry);
    const piece = this.#pieces[p]!;
    piece.notes.splice(at, 1);
    const [size] = piece.sizes.splice(at, 1);
    piece.expires = undefined;
    if (piece.notes.length === 0 && this.#pieces.length > 1) this.#pieces.splice(p, 1);
    this.#entries.delete(file);
    this.#count(entry, size!, -1);
    return entry;
  }

  /**
   * At most `limit` notes, newest first, all older than `before`.
   * @param now leaves out what has expired by then, ms since the epoch; nothing unless given
   */
  older(before: Position | undefined, limit: number, now?: number): Entry[] {
    const found: Entry[] = [];
    let [p, end] = before ? this.#countBefore(sortKeyOf(before)) : [this.#pieces.length, 0];
    for (; p >= 0 && found.length < limit; p -= 1, end = PIECE_NOTES) {
      const piece = this.#pieces[p];
      if (!piece || this.#hasExpired(piece, now)) continue;
      for (let at = Math.min(end, piece.notes.length) - 1; at >= 0 && found.length < limit; at -= 1)
        if (!this.#isExpired(piece.notes[at]!, now)) found.push(this.#entryAt(piece, at));
    }
    return found;
  }

  /** The first note that is newer than `after`, of those that have not expired by `now`. */
  newer(after: Position, now?: number): Entry | undefined {
    const place = sortKeyOf(after);
    let [p, at] = this.#countBefore(place);
    const next = this.#pieces[p]!.notes[at];
    if (next !== undefined && oldestFirst(placeIn(next), place) === 0) at += 1;
    for (; p < this.#pieces.length; p += 1, at = 0) {
      const piece = this.#pieces[p]!;
      if (this.#hasExpired(piece, now)) continue;
      for (; at < piece.notes.length; at += 1)
        if (!this.#isExpired(piece.notes[at]!, now)) return this.#entryAt(piece, at);
    }
    return undefined;
  }

  /** The notes from the oldest on; the list must not change meanwhile. */
  *oldest(): Generator<Ordered & Pick<Entry, 'file'>> {
    for (const { notes } of this.#pieces)
      for (const note of notes)
        yield typeof note === 'string' ? { file: fileOf(note), ...placeIn(note) } : note;
  }

  /** Call it if the expiry of a note changes while its entry stays. */
  forgetExpiries(): void {
    for (const piece of this.#pieces) piece.expires = undefined;
  }

  #count({ type }: Ordered, size: number, each: 1 | -1): void {
    this.size += each;
    this.byteCount += each * size;
    if (type !== 'md') this.imageCount += each;
  }

  /** Whether a whole piece has expired: so a million notes that expired at once are skipped by a thousand steps. */
  #hasExpired(piece: Piece, now: number | undefined): boolean {
    if (now === undefined) return false;
    piece.expires ??= this.#expiryOfAll(piece.notes);
    return piece.expires <= now;
  }

  #expiryOfAll(notes: Piece['notes']): number {
    let last = Number.NEGATIVE_INFINITY;
    for (const note of notes) {
      last = Math.max(last, this.#expiry(note));
      if (last === Number.POSITIVE_INFINITY) break;
    }
    return last;
  }

  #isExpired(note: Entry | Unasked, now: number | undefined): boolean {
    return now !== undefined && this.#expiry(note) <= now;
  }

  #expiry(note: Entry | Unasked): number {
    return hasMeta(note) ? this.#expiryOf(fileOf(note)) : Number.POSITIVE_INFINITY;
  }

  /** Where the note of a file is that nobody has asked for. */
  #unaskedAt(file: NoteFile): [Piece, number] | undefined {
    const parsed = parseNoteFile(file);
    const createdAt = parsed && dateOfId(parsed.id);
    if (createdAt === undefined) return undefined;
    const [p, at] = this.#countBefore({ ...parsed!, createdAt });
    const piece = this.#pieces[p]!;
    const note = piece.notes[at];
    return note !== undefined && fileOf(note) === file ? [piece, at] : undefined;
  }

  /** The entry of a file, which is at its place if it is in the list. */
  #find(file: NoteFile, place: Ordered): Entry | undefined {
    const [p, at] = this.#countBefore(place);
    const piece = this.#pieces[p]!;
    const note = piece.notes[at];
    return note !== undefined && fileOf(note) === file ? this.#entryAt(piece, at) : undefined;
  }

  #entryAt({ notes, sizes }: Piece, at: number): Entry {
    const note = notes[at]!;
    if (typeof note !== 'string') return note;
    const meta = hasMeta(note) ? UNSEEN : undefined;
    const entry: Entry = { file: fileOf(note), ...placeIn(note), size: sizes[at]!, stamp: UNSEEN, meta };
    this.#entries.set(entry.file, entry);
    notes[at] = entry;
    return entry;
  }

  /** The piece that a place is in, and how many notes of it are older. A place at the end of a piece is in that. */
  #countBefore(place: Ordered): [piece: number, notes: number] {
    const isOlder = comparedWith(place);
    const first = countWhile(this.#pieces.length - 1, (at) => isOlder(this.#pieces[at + 1]!.notes[0]!));
    // What is first in the next piece may be the very note.
    const { notes } = this.#pieces[first]!;
    const at = countWhile(notes.length, (at) => isOlder(notes[at]!));
    const isInNext = at === notes.length && first < this.#pieces.length - 1 && this.#isAt(first + 1, place);
    return isInNext ? [first + 1, 0] : [first, at];
  }

  #isAt(piece: number, place: Ordered): boolean {
    return oldestFirst(placeIn(this.#pieces[piece]!.notes[0]!), place) === 0;
  }
}

/** How many of `count` in order come before something. The search begins at the end: most look for one of the newest. */
export function countWhile(count: number, isBefore: (at: number) => boolean): number {
  let high = count;
  let low = high - 1;
  for (let step = 1; low >= 0 && !isBefore(low); step *= 2) {
    high = low;
    low -= step;
  }
  low = Math.max(low + 1, 0);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The length of `YYYYMMDDTHHMMSSZ`, the second of its date, with which the file of an unasked note begins. */
const SECOND_LENGTH = 16;

/** Whether a note is older than a place. Mostly the second tells, and dates are rarely parsed, which takes 1 µs. */
function comparedWith(place: Ordered): (note: Entry | Unasked) => boolean {
  let second: string | undefined;
  return (note) => {
    if (typeof note === 'string') {
      second ??= dateOfId(place.id) === place.createdAt ? place.id.slice(0, SECOND_LENGTH) : '';
      const start = note.startsWith('.') ? 1 : 0;
      const other = note.slice(start, start + SECOND_LENGTH);
      if (second !== '' && other !== second) return other < second;
    }
    return oldestFirst(placeIn(note), place) < 0;
  };
}

function placeIn(note: Entry | Unasked): Ordered {
  if (typeof note !== 'string') return note;
  const { id, type } = parseNoteFile(fileOf(note))!;
  return { id, type, createdAt: dateOfId(id)! };
}

function fileOf(note: Entry | Unasked): NoteFile {
  return typeof note === 'string' ? (noteOfMetaFile(note) ?? (note as string as NoteFile)) : note.file;
}

function hasMeta(note: Entry | Unasked): boolean {
  return typeof note === 'string' ? note.startsWith('.') : note.meta !== undefined;
}

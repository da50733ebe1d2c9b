import { type NoteFile, noteFile, parseNoteFile } from '../../feeds/names.ts';
import type { NewNote, NoteMeta } from '../../feeds/note.ts';
import { type Entry, NoteList } from './note-list.ts';
import { UNSEEN } from './stamp.ts';

/** The key and the expiry of a note, by which it is found. A mark is only a claim: the metadata file counts. */
export interface Mark extends Pick<NoteMeta, 'key' | 'expires'> {
  readonly file: NoteFile;
}

/** The mark of a note; undefined for one with neither a key nor an expiry. */
export function markOf(
  file: NoteFile,
  { key, expires }: Pick<NoteMeta, 'key' | 'expires'>,
): Mark | undefined {
  return key === undefined && expires === undefined ? undefined : { file, key, expires };
}

/** The marks of notes that have one. */
export function marksOf(notes: readonly Pick<NewNote, 'id' | 'type' | 'meta'>[]): Mark[] {
  return notes.flatMap(({ id, type, meta }) => markOf(noteFile(id, type), meta) ?? []);
}

/** The marks of the notes of a feed. */
export class Marks {
  /** Sorted as notes are, but by the moment when each expires. */
  readonly #list = new NoteList();
  readonly #keys = new Map<NoteFile, string>();
  /** By key: more than one only if somebody has written it by hand, or has just removed one. */
  readonly #files = new Map<string, readonly NoteFile[]>();

  get size(): number {
    return this.#list.size;
  }

  /** Ms since the epoch; infinite for a note that does not expire. */
  expiryOf(file: NoteFile): number {
    return this.#list.getAsked(file)?.createdAt ?? Number.POSITIVE_INFINITY;
  }

  /** The notes that have a key: first those that have not expired, each by name. */
  holdersOf(key: string, now: number): NoteFile[] {
    const files = this.#files.get(key)?.toSorted() ?? [];
    const isExpired = (file: NoteFile) => this.expiryOf(file) <= now;
    return [...files.filter((file) => !isExpired(file)), ...files.filter(isExpired)];
  }

  /** At most so many of the notes that have expired, those that expired first. */
  expired(now: number, limit: number): NoteFile[] {
    const files: NoteFile[] = [];
    for (const { file, createdAt } of this.#list.oldest()) {
      if (createdAt > now || files.length === limit) break;
      files.push(file);
    }
    return files;
  }

  get(file: NoteFile): Mark | undefined {
    const entry = this.#list.getAsked(file);
    if (!entry) return undefined;
    const expires = Number.isFinite(entry.createdAt) ? entry.createdAt : undefined;
    return { file, key: this.#keys.get(file), expires };
  }

  set({ file, key, expires = Number.POSITIVE_INFINITY }: Mark): void {
    this.remove(file);
    const named = parseNoteFile(file)!;
    const entry: Entry = { ...named, createdAt: expires, size: 0, stamp: UNSEEN, meta: undefined };
    this.#list.put(entry);
    if (key === undefined) return;
    this.#keys.set(file, key);
    this.#files.set(key, [...(this.#files.get(key) ?? []), file]);
  }

  remove(file: NoteFile): boolean {
    const key = this.#keys.get(file);
    if (key !== undefined) {
      const others = this.#files.get(key)!.filter((one) => one !== file);
      if (others.length > 0) this.#files.set(key, others);
      else this.#files.delete(key);
      this.#keys.delete(file);
    }
    return this.#list.remove(file) !== undefined;
  }

  files(): Iterable<NoteFile> {
    return this.#list.files();
  }
}

/** A line of `.marks`: `<expiry in ms>/<file>/<key>`, the first and the last empty if there is none; both for no mark. */
export function lineOf({ file, key = '', expires }: Mark): string {
  return `${expires ?? ''}/${file}/${key}\n`;
}

/**
 * The last line of `.marks`: the file has the marks of all metadata files that changed before this moment, ms since the epoch.
 * A number alone, as older versions wrote it, does not count, because it could be wrong.
 */
export function endLine(since: number): string {
  return `complete until ${since}\n`;
}

/** Lines read in one piece of work, about 1 ms. */
const LINES_AT_ONCE = 1_000;
const END = /^complete until (\d+)$/;
const LINE = /^(-?\d*)\/([^/]+)\/(.*)$/;

/** What a `.marks` says; what cannot be read of it counts as absent. `pause` is waited for between two pieces of work. */
export async function parseMarks(
  text: string,
  pause: () => Promise<unknown>,
): Promise<{ marks: Map<NoteFile, Mark>; since: number; lines: number }> {
  const marks = new Map<NoteFile, Mark>();
  let since = 0;
  const lines = text.split('\n');
  for (const [n, line] of lines.entries()) {
    if (n % LINES_AT_ONCE === LINES_AT_ONCE - 1) await pause();
    const [, expires, file = '', key] = LINE.exec(line) ?? [];
    const note = parseNoteFile(file)?.file;
    since = Number(END.exec(line)?.[1] ?? since);
    if (note === undefined) continue;
    marks.delete(note);
    const mark = markOf(note, { key: key || undefined, expires: expires ? Number(expires) : undefined });
    if (mark) marks.set(note, mark);
  }
  return { marks, since, lines: lines.length - 1 };
}

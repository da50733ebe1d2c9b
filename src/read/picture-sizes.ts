import { LRUCache } from 'lru-cache';
import type { Feed } from '../feeds/feed.ts';
import { type NoteFile, noteFile, parseNoteFile } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import { HEAD_BYTES, type PixelSize, pixelSize } from '../feeds/picture-bytes.ts';
import { fileUrl } from '../feeds/urls.ts';
import { readFirst } from '../http/stored-body.ts';
import type { Storage } from '../storage/storage.ts';
import type { ReadPlace } from './views/document.ts';

/** The most pictures of a page whose sizes are found; browsers make room for the others when they load. */
const MAX_PICTURES = 100;
/** Sizes remembered of pictures whose metadata has none. */
const REMEMBERED = 10_000;

/** The most names in the texts of a page that are looked at, because a text may consist of them. */
const MAX_NAMES = 2_000;

/** What may be the name of a picture of the feed. Matched by its end, because few words of a text end so. */
const PICTURE_NAME = /\.(?:png|jpg|gif|webp)\b(?<=([^\s()[\]<>"'/\\?#%.]{1,200}\.\w+))/g;

/**
 * Finds the sizes of the pictures that notes show, so that pages reserve room for them. They are read from the metadata,
 * or once from the bytes if the metadata has none or the picture was replaced.
 */
export class PictureSizes {
  readonly #storage: Pick<Storage, 'note' | 'stat'>;
  readonly #measured = new LRUCache<string, { readonly size: PixelSize | undefined }>({ max: REMEMBERED });

  constructor(storage: Pick<Storage, 'note' | 'stat'>) {
    this.#storage = storage;
  }

  /** The sizes by the addresses of the pictures. */
  async find(
    { base, readId }: ReadPlace,
    feed: Feed,
    notes: readonly Note[],
  ): Promise<Map<string, PixelSize>> {
    const shown = new Map(notes.map((note) => [noteFile(note.id, note.type), note]));
    const files = [...picturesOf(notes)].slice(0, MAX_PICTURES);
    const sizes = await Promise.all(files.map((file) => this.#size(feed, file, shown.get(file))));
    return new Map(
      files.flatMap((file, n) => {
        const size = sizes[n];
        return size ? [[fileUrl(base, readId, file), size]] : [];
      }),
    );
  }

  async #size(feed: Feed, file: NoteFile, known: Note | undefined): Promise<PixelSize | undefined> {
    const { id, type } = parseNoteFile(file)!;
    const note = known ?? (await this.#storage.note(feed, id));
    if (note === undefined || note.type !== type || type === 'md') return undefined;
    const { pixels } = note.meta;
    if (pixels?.bytes === note.size) return pixels;
    const key = `${feed.key} ${file} ${note.size}`;
    let measured = this.#measured.get(key);
    if (measured === undefined) {
      const head = await this.#head(feed, file);
      if (head === undefined) return undefined;
      measured = { size: pixelSize(type, head) };
      this.#measured.set(key, measured);
    }
    return measured.size;
  }

  /** The first bytes; undefined if the picture cannot be read now, because a page can do without its size. */
  async #head(feed: Feed, file: NoteFile): Promise<Uint8Array | undefined> {
    try {
      const stored = await this.#storage.stat(feed, file);
      return stored && (await readFirst(stored, Math.min(stored.size, HEAD_BYTES)));
    } catch {
      return undefined;
    }
  }
}

/** The picture notes, and the pictures of the first `MAX_NAMES` names that are in texts. */
export function picturesOf(notes: readonly Note[]): Set<NoteFile> {
  const files = new Set<NoteFile>();
  let names = 0;
  for (const { id, type, content } of notes) {
    if (content === undefined) files.add(noteFile(id, type));
    else
      for (const [, name = ''] of latin1(content).matchAll(PICTURE_NAME)) {
        names += 1;
        if (names > MAX_NAMES) break;
        const found = parseNoteFile(name);
        if (found) files.add(found.file);
      }
  }
  return files;
}

/** The names are ASCII, so latin1 gives the same as UTF-8, and faster. */
function latin1(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.length).toString('latin1');
}

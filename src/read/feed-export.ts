import { crc32 } from 'node:zlib';
import type { Feed } from '../feeds/feed.ts';
import { dateOfId, datePrefixOfId } from '../feeds/ids.ts';
import { noteFile } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import { notFound, Refusal } from '../refusals.ts';
import { metaFile, SETTINGS_FILE } from '../storage/files/names.ts';
import { serializeMeta, serializeSettings } from '../storage/metadata.ts';
import type { Storage, StoredFile } from '../storage/storage.ts';
import { FileReplaced } from '../storage/stored-file.ts';
import { ZipWriter } from './zip-writer.ts';

export type ExportedStorage = Pick<Storage, 'feed' | 'page' | 'stat'>;

/** Notes that are looked up at once. */
const PAGE = 100;
/** Smaller pieces are sent together, bytes. */
const PIECE_BYTES = 64 * 1024;
/** Larger pictures, which only people place, are read twice instead of being held in memory, bytes. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;
/** How often a picture may be replaced while it is read. */
const MAX_ATTEMPTS = 5;

/**
 * The feed as a zip of what its folder on plain files would hold, but for password, license and read id. A note that goes
 * meanwhile is left out. Each piece is valid until the next is asked for.
 * @throws an error if the feed goes meanwhile, so that nobody takes a part for the whole
 */
export function exportFeed(storage: ExportedStorage, feed: Feed): AsyncGenerator<Uint8Array> {
  return joinSmallPieces(zipOf(storage, feed));
}

async function* zipOf(storage: ExportedStorage, feed: Feed): AsyncGenerator<Uint8Array> {
  const zip = new ZipWriter();
  const held = new HeldBytes();
  const settings = serializeSettings(feed);
  if (settings !== undefined) yield* zip.file(SETTINGS_FILE, feed.changedAt, Buffer.from(settings));
  let page = await storage.page(feed, { limit: PAGE });
  for (;;) {
    for (const note of page.notes) {
      if (note.type === 'md') yield* textOf(zip, note);
      else yield* pictureOf(zip, note, held, () => storage.stat(feed, noteFile(note.id, note.type)));
    }
    if (page.next === undefined) break;
    page = await storage.page(feed, { limit: PAGE, before: page.next });
  }
  // The pages of a feed that is gone are empty.
  if ((await storage.feed(feed.name))?.key !== feed.key) throw notFound('feed');
  yield* zip.end();
}

function* textOf(zip: ZipWriter, note: Note): Iterable<Uint8Array> {
  yield* metaOf(zip, note);
  yield* zip.file(noteFile(note.id, note.type), note.modifiedAt, note.content!);
}

/** Nothing for a picture that is gone, also from its store. */
async function* pictureOf(
  zip: ZipWriter,
  note: Note,
  held: HeldBytes,
  stat: () => Promise<StoredFile | undefined>,
): AsyncIterable<Uint8Array> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const file = await stat();
    if (file === undefined) return;
    const { modifiedAt, size } = file;
    const isHeld = size <= MAX_HELD_BYTES;
    const whole = isHeld ? await held.read(file) : undefined;
    const crc = whole ? crc32(whole) : isHeld ? undefined : await crcOf(file);
    if (crc === undefined) continue;
    yield* metaOf(zip, note);
    yield zip.begin(noteFile(note.id, note.type), modifiedAt, { size, crc });
    yield* whole ? [whole] : file.read(0, size);
    return;
  }
}

/** A note's metadata file, if it has one. The file has the date of the note unless the id has it. */
function metaOf(zip: ZipWriter, { id, type, meta, others, createdAt, modifiedAt }: Note): Uint8Array[] {
  const isSaid = (dateOfId(id) ?? datePrefixOfId(id)) === createdAt;
  const json = serializeMeta(meta, { created: isSaid ? undefined : createdAt, others });
  return json === undefined ? [] : zip.file(metaFile(noteFile(id, type)), modifiedAt, Buffer.from(json));
}

/** Reads pictures, one after the other, into the same memory. */
class HeldBytes {
  #buffer = Buffer.alloc(0);

  /** Undefined for one that is replaced meanwhile. Valid until the next one is read. */
  async read(file: StoredFile): Promise<Uint8Array | undefined> {
    const { size } = file;
    if (size > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(size);
    const bytes = this.#buffer.subarray(0, size);
    let at = 0;
    const isWhole = await unlessGone(async () => {
      for await (const piece of file.read(0, size)) {
        bytes.set(piece, at);
        at += piece.length;
      }
    });
    return isWhole && at === size ? bytes : undefined;
  }
}

/** Undefined for a file that is replaced meanwhile. */
async function crcOf(file: StoredFile): Promise<number | undefined> {
  let crc = 0;
  const isWhole = await unlessGone(async () => {
    for await (const piece of file.read(0, file.size)) crc = crc32(piece, crc);
  });
  return isWhole ? crc : undefined;
}

async function unlessGone(read: () => Promise<void>): Promise<boolean> {
  try {
    await read();
    return true;
  } catch (error) {
    if (error instanceof FileReplaced || (error instanceof Refusal && error.code === 'not_found'))
      return false;
    throw error;
  }
}

/** Short pieces together, because each costs a call of the system; in one buffer, because dropped ones are collected late. */
async function* joinSmallPieces(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(PIECE_BYTES);
  let size = 0;
  for await (const piece of pieces) {
    if (size + piece.length > PIECE_BYTES && size > 0) {
      yield buffer.subarray(0, size);
      size = 0;
    }
    if (piece.length > PIECE_BYTES) yield piece;
    else {
      buffer.set(piece, size);
      size += piece.length;
    }
  }
  if (size > 0) yield buffer.subarray(0, size);
}

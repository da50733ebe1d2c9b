import { createHash } from 'node:crypto';
import type { ImageKey } from '../feeds/image-keys.ts';
import type { FeedName, NoteId, ReadId } from '../feeds/names.ts';
import { NOTE_TYPES } from '../feeds/note-types.ts';
import type { Ordered } from '../feeds/order.ts';
import { licenseId } from '../licenses/format.ts';
import { Refusal } from '../refusals.ts';
import {
  type FeedRow,
  feedOf,
  type InsertedNote,
  metadataOf,
  typeNumber,
  wholeMetaOf,
} from '../storage/rows.ts';
import type { Archive, ArchivedFeed, ArchivedNote, ImageSource } from './archive.ts';

/** The columns that order the notes of a feed. */
export interface SortColumns {
  readonly created_at: number;
  readonly id: NoteId;
  readonly type: number;
}

/** The columns of a note, which has its bytes in it or the key of a picture. */
export interface WholeNoteRow extends SortColumns {
  readonly modified_at: number;
  readonly metadata: string | null;
  readonly content: Uint8Array;
  readonly size: number;
  readonly image_key: ImageKey | null;
}

/** The columns that `insertFeed` gets values for. */
export const ARCHIVED_COLUMNS =
  'name, read_id, password_hash, title, description, show_sender, image, changed_at, license, license_id';

type Values = readonly (string | number | boolean | null)[];
type Awaitable<T> = T | Promise<T>;

const BEFORE_ALL: SortColumns = { created_at: Number.MIN_SAFE_INTEGER, id: '' as NoteId, type: 0 };

/** An archive by the statements of a database. Lists of rows are the next ones in order; an empty one is the end. */
export abstract class DatabaseArchive implements Archive {
  readonly #images: ImageSource | undefined;

  constructor(images: ImageSource | undefined) {
    this.#images = images;
  }

  protected abstract feedRows(afterName: string): Awaitable<readonly FeedRow<boolean | number>[]>;
  protected abstract noteRows(name: FeedName, after: SortColumns): Awaitable<readonly WholeNoteRow[]>;
  protected abstract retiredRows(after: string): Awaitable<readonly { readonly read_id: ReadId }[]>;
  protected abstract newestNote(name: FeedName): Awaitable<SortColumns | undefined>;
  /** Leaves a feed of that name as it is. */
  protected abstract insertFeed(values: Values): Awaitable<void>;

  abstract mark(): Promise<string | undefined>;
  abstract begin(mark: string): Promise<void>;
  abstract addNotes(feed: ArchivedFeed, notes: readonly ArchivedNote[]): Promise<void>;
  abstract addRetiredReadIds(readIds: readonly ReadId[]): Promise<void>;
  abstract end(): Promise<void>;
  abstract close(): Promise<void>;

  async *feeds(): AsyncIterable<ArchivedFeed> {
    for (let after = ''; ; ) {
      const rows = await this.feedRows(after);
      for (const { key: _key, version: _version, ...feed } of rows.map(feedOf)) yield feed;
      if (rows.length === 0) return;
      after = rows.at(-1)!.name;
    }
  }

  async *notes(name: FeedName, after?: Ordered): AsyncIterable<ArchivedNote> {
    const { createdAt: created_at, id, type } = after ?? {};
    for (let place = after ? { created_at: created_at!, id: id!, type: typeNumber(type!) } : BEFORE_ALL; ; ) {
      const rows = await this.noteRows(name, place);
      for (const row of rows)
        yield {
          ...orderOf(row),
          modifiedAt: row.modified_at,
          ...wholeMetaOf(row.metadata),
          bytes: await noteBytes(row, this.#images),
        };
      if (rows.length === 0) return;
      place = rows.at(-1)!;
    }
  }

  async *retiredReadIds(): AsyncIterable<ReadId> {
    for (let after = ''; ; ) {
      const rows = await this.retiredRows(after);
      for (const { read_id } of rows) yield read_id;
      if (rows.length === 0) return;
      after = rows.at(-1)!.read_id;
    }
  }

  async countStrays(): Promise<number> {
    return 0;
  }

  async addFeed(feed: ArchivedFeed): Promise<Ordered | undefined> {
    const { name, readId, passwordHash, title, description, showSender, image, changedAt, license } = feed;
    await this.insertFeed([
      ...[name, readId, passwordHash ?? null, title, description, showSender, image ?? null, changedAt],
      ...[license ?? null, (license && licenseId(license)) ?? null],
    ]);
    const newest = await this.newestNote(name);
    return newest && orderOf(newest);
  }
}

/** The row of a note in the feed with that row id. */
export function archivedRow(feed: number, note: ArchivedNote): InsertedNote {
  const { id, type, createdAt, modifiedAt, meta, others, bytes } = note;
  return {
    ...{ feed, id, type: typeNumber(type), created_at: createdAt, modified_at: modifiedAt },
    metadata: metadataOf(meta, others),
    sha256: createHash('sha256').update(bytes).digest('base64url'),
    size: bytes.byteLength,
    image_key: null,
    content: bytes,
  };
}

function orderOf({ id, type, created_at }: SortColumns): Ordered {
  return { createdAt: created_at, id, type: NOTE_TYPES[type]! };
}

/** Throws an error with a sentence for the operator when the bytes cannot be had. */
async function noteBytes(row: WholeNoteRow, images: ImageSource | undefined): Promise<Uint8Array> {
  const { content, size, image_key: key } = row;
  if (key === null) return content;
  if (!images)
    throw new Error(
      'It has pictures in an image store: run the move with the SERVICE_IMAGES settings of the service.',
    );
  const bytes = Buffer.alloc(size);
  let at = 0;
  try {
    for await (const piece of images.get(key, 0, size)) {
      bytes.set(piece, at);
      at += piece.byteLength;
    }
  } catch (cause) {
    const isGone = cause instanceof Refusal && cause.code === 'not_found';
    const why = isGone ? 'is gone from' : 'cannot be read from';
    throw new Error(`A picture ${why} its image store (SERVICE_IMAGES).`, { cause });
  }
  return bytes;
}

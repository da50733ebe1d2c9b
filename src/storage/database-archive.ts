import { createHash } from 'node:crypto';
import type { FeedName, NoteId, ReadId } from '../feeds/names.ts';
import { NOTE_TYPES } from '../feeds/note-types.ts';
import type { Ordered } from '../feeds/order.ts';
import { Refusal } from '../refusals.ts';
import type { Archive, ArchivedFeed, ArchivedNote, ImageSource } from './archive.ts';
import { withLowerTags } from './metadata.ts';
import type { OperatorRecord } from './operator-records.ts';
import { type FeedRow, feedOf, type InsertedNote, metadataColumns, metaOf, typeNumber } from './rows.ts';

/** The columns that order the notes of a feed. */
export type SortColumns = Pick<InsertedNote, 'created_at' | 'id' | 'type'>;

/** The columns of a note, with either its bytes or the key of its picture. */
export type WholeNoteRow = Omit<InsertedNote, 'feed' | 'sha256' | 'key' | 'expires_at'>;

/** The columns that `insertFeed` gets values for. */
export const ARCHIVED_COLUMNS =
  'name, read_id, password_hash, title, description, show_sender, image, changed_at, license, license_id, keep_days, keep_notes, listed';

type Awaitable<T> = T | Promise<T>;
type Rows<R> = Awaitable<readonly R[]>;

const BEFORE_ALL: SortColumns = { created_at: Number.MIN_SAFE_INTEGER, id: '' as NoteId, type: 0 };

/** An archive by the statements of a database. Each `…Rows` reads the next rows after a place, in order; none at the end. */
export abstract class DatabaseArchive implements Archive {
  readonly #images: ImageSource | undefined;

  constructor(images: ImageSource | undefined) {
    this.#images = images;
  }

  protected abstract readonly feedRows: (after: string) => Rows<FeedRow<boolean | number>>;
  protected abstract readonly noteRows: (name: FeedName, after: SortColumns) => Rows<WholeNoteRow>;
  protected abstract readonly retiredRows: (after: string) => Rows<{ readonly read_id: ReadId }>;
  protected abstract readonly recordRows: (kind: string, key: string) => Rows<OperatorRecord>;
  /** The newest note of a feed, if any. */
  protected abstract readonly newestNote: (name: FeedName) => Rows<SortColumns>;
  /** Leaves a feed of that name as it is. */
  protected abstract insertFeed(values: readonly (string | number | boolean | null)[]): Awaitable<void>;

  abstract mark(): Promise<string | undefined>;
  abstract begin(mark: string): Promise<void>;
  abstract addNotes(feed: ArchivedFeed, notes: readonly ArchivedNote[]): Promise<void>;
  abstract addRetiredReadIds(readIds: readonly ReadId[]): Promise<void>;
  abstract addRecords(records: readonly OperatorRecord[]): Promise<void>;
  abstract end(): Promise<void>;
  abstract close(): Promise<void>;

  async *feeds(): AsyncIterable<ArchivedFeed> {
    for await (const row of inOrder(this.feedRows, ({ name }) => name, '')) {
      const { key: _key, version: _version, byteCount: _bytes, isBlocked: _isBlocked, ...feed } = feedOf(row);
      yield feed;
    }
  }

  async *notes(name: FeedName, after?: Ordered): AsyncIterable<ArchivedNote> {
    const first = after ? placeOf(after) : BEFORE_ALL;
    const next = (place: SortColumns) => this.noteRows(name, place);
    for await (const row of inOrder(next, (row) => row, first)) {
      // As files are read, so that a copy in files is the same.
      const { meta, others } = withLowerTags(metaOf(row.metadata));
      const bytes = await noteBytes(row, this.#images);
      yield { ...orderOf(row), modifiedAt: row.modified_at, meta, others, bytes };
    }
  }

  async *retiredReadIds(): AsyncIterable<ReadId> {
    for await (const { read_id } of inOrder(this.retiredRows, (row) => row.read_id, '')) yield read_id;
  }

  records(): AsyncIterable<OperatorRecord> {
    const next = ({ kind, key }: { kind: string; key: string }) => this.recordRows(kind, key);
    return inOrder(next, (record) => record, { kind: '', key: '' });
  }

  async strays(): Promise<readonly string[]> {
    return [];
  }

  async addFeed(feed: ArchivedFeed): Promise<Ordered | undefined> {
    const { name, readId, passwordHash = null, title, description, showSender, image = null } = feed;
    const { changedAt, keepDays = null, keepNotes = null, listed } = feed;
    const { text = null, id = null } = feed.license ?? {};
    const first = [name, readId, passwordHash, title, description, showSender, image, changedAt];
    await this.insertFeed([...first, text, id, keepDays, keepNotes, listed]);
    const [newest] = await this.newestNote(name);
    return newest && orderOf(newest);
  }
}

/**
 * What a feed gains by notes: their number, the number of pictures, and bytes. `dueAt` is 0 if the first sweep must find out when
 * notes are due, and null if these notes change nothing of that.
 */
export function gainOf(
  { keepDays, keepNotes }: ArchivedFeed,
  notes: readonly ArchivedNote[],
): [notes: number, pictures: number, bytes: number, dueAt: 0 | null] {
  const pictures = notes.filter(({ type }) => type !== 'md').length;
  const bytes = notes.reduce((sum, note) => sum + note.bytes.byteLength, 0);
  const isLimited = (keepDays ?? keepNotes) !== undefined;
  const mayBeDue = isLimited || notes.some(({ meta }) => meta.expires !== undefined);
  return [notes.length, pictures, bytes, mayBeDue ? 0 : null];
}

/** All rows after `first`, read page by page. */
async function* inOrder<R, P>(
  next: (after: P) => Rows<R>,
  positionOf: (row: R) => P,
  first: P,
): AsyncIterable<R> {
  for (let after = first; ; ) {
    const rows = await next(after);
    if (rows.length === 0) return;
    yield* rows;
    after = positionOf(rows.at(-1)!);
  }
}

/** The row of a note in the feed with that row id. */
export function archivedRow(feed: number, note: ArchivedNote): InsertedNote {
  const { modifiedAt, meta, others, bytes } = note;
  return {
    feed,
    ...placeOf(note),
    modified_at: modifiedAt,
    ...metadataColumns(meta, others),
    sha256: createHash('sha256').update(bytes).digest('base64url'),
    size: bytes.byteLength,
    image_key: null,
    content: bytes,
  };
}

function placeOf({ createdAt, id, type }: Ordered): SortColumns {
  return { created_at: createdAt, id, type: typeNumber(type) };
}

function orderOf({ id, type, created_at }: SortColumns): Ordered {
  return { createdAt: created_at, id, type: NOTE_TYPES[type]! };
}

/** Throws an error with a sentence for the operator when the bytes cannot be had. */
async function noteBytes(row: WholeNoteRow, images: ImageSource | undefined): Promise<Uint8Array> {
  const { id, content, size, image_key: key } = row;
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
    throw new Error(
      `The picture of the note ${JSON.stringify(id)} ${why} its image store (SERVICE_IMAGES).`,
      { cause },
    );
  }
  return bytes;
}

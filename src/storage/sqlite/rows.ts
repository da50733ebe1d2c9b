import type { FeedName, NoteFile, NoteId, ReadId } from '../../feeds/names.ts';
import { NOTE_TYPES } from '../../feeds/note-types.ts';
import { metaOf } from '../note-columns.ts';
import type { Feed, Note } from '../storage.ts';

/** The columns of `FeedRow`. */
export const FEED_COLUMNS =
  'id, name, read_id, password_hash, title, description, show_sender, image, note_count, image_count, changed_at';

/** A feed as it is stored. Within a transaction the writer keeps the row as it will be. */
export interface FeedRow {
  readonly id: number;
  readonly name: FeedName;
  read_id: ReadId;
  password_hash: string | null;
  title: string;
  description: string;
  show_sender: number;
  image: NoteFile | null;
  note_count: number;
  image_count: number;
  changed_at: number;
}

/** The columns of `NoteRow`; the content of pictures is not wanted with the rest. */
export const NOTE_COLUMNS =
  'notes.id, notes.type, notes.size, notes.created_at, notes.metadata, iif(notes.type = 0, notes.content, NULL) AS content';

export interface NoteRow {
  readonly id: NoteId;
  readonly type: number;
  readonly size: number;
  readonly created_at: number;
  readonly metadata: string | null;
  readonly content: Uint8Array | null;
}

export function feedOf(row: FeedRow): Feed {
  return {
    key: String(row.id),
    name: row.name,
    readId: row.read_id,
    title: row.title,
    description: row.description,
    showSender: row.show_sender === 1,
    image: row.image ?? undefined,
    passwordHash: row.password_hash ?? undefined,
    changedAt: row.changed_at,
    noteCount: row.note_count,
    imageCount: row.image_count,
  };
}

export function noteOf(row: NoteRow): Note {
  return {
    id: row.id,
    type: NOTE_TYPES[row.type]!,
    size: row.size,
    createdAt: row.created_at,
    meta: metaOf(row.metadata),
    content: row.content ?? undefined,
  };
}

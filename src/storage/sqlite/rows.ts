import type { FeedName, NoteFile, ReadId } from '../../feeds/names.ts';
import type { Feed } from '../storage.ts';

/** The columns of `FeedRow`. */
export const FEED_COLUMNS =
  'id, name, read_id, password_hash, title, description, show_sender, image, note_count, image_count, changed_at, license';

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
  license: string | null;
}

/** The columns of `NoteRow`; the content of pictures is not wanted with the rest. */
export const NOTE_COLUMNS =
  'notes.id, notes.type, notes.size, notes.created_at, notes.metadata, iif(notes.type = 0, notes.content, NULL) AS content';

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
    license: row.license ?? undefined,
    changedAt: row.changed_at,
    version: row.changed_at.toString(36),
    noteCount: row.note_count,
    imageCount: row.image_count,
  };
}

import type { FeedName, NoteFile, ReadId } from '../../feeds/names.ts';
import type { Feed } from '../storage.ts';

/** The columns of `FeedRow`. */
export const FEED_COLUMNS =
  'feeds.id, name, read_id, password_hash, title, description, show_sender, image, note_count, image_count, changed_at, license';

export interface FeedRow {
  readonly id: number;
  readonly name: FeedName;
  readonly read_id: ReadId;
  readonly password_hash: string | null;
  readonly title: string;
  readonly description: string;
  readonly show_sender: boolean;
  readonly image: NoteFile | null;
  readonly note_count: number;
  readonly image_count: number;
  readonly changed_at: number;
  readonly license: string | null;
}

/** The columns of `NoteRow`, but for the content. */
export const CONTENTLESS_COLUMNS = 'id, type, size, created_at, metadata';
/** The columns of `NoteRow`; the content of pictures is not wanted with the rest. */
export const NOTE_COLUMNS = `${CONTENTLESS_COLUMNS}, CASE WHEN type = 0 THEN content END AS content`;

export function feedOf(row: FeedRow): Feed {
  return {
    key: String(row.id),
    name: row.name,
    readId: row.read_id,
    title: row.title,
    description: row.description,
    showSender: row.show_sender,
    image: row.image ?? undefined,
    passwordHash: row.password_hash ?? undefined,
    license: row.license ?? undefined,
    changedAt: row.changed_at,
    version: row.changed_at.toString(36),
    noteCount: row.note_count,
    imageCount: row.image_count,
  };
}

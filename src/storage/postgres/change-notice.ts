import type { NoteId, ReadId } from '../../feeds/names.ts';
import type { ChangedNotes } from '../arrivals.ts';

/** The channel of notices of committed changes to every process that uses the database. */
export const CHANGE_CHANNEL = 'note_feed_changes';
/** PostgreSQL takes payloads of less than 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7_900;

/** A changed feed, identified by its row because its name is a secret. */
export interface ChangedFeed extends ChangedNotes {
  /** Id of its row: `Feed.key`. */
  readonly key: string;
  /** The read ids whose views are out of date: the one it has and the one it had before. */
  readonly readIds: readonly ReadId[];
}

/** What ids of notes may take of a payload; if they take more, they are not told. */
const MAX_NOTES_BYTES = 6_000;
/** Stands for all notes: no escaped id is so. */
const UNNAMED = '$';

/** The content of a payload. */
interface ChangeNotice {
  /** See `Transaction.origin`. */
  readonly origin: string;
  readonly changes: readonly ChangedFeed[];
}

/**
 * The payloads of a transaction's changes: its origin, then feeds, each `<key>:<read id>[,<read id>]`, with
 * spaces between them. Notes that were edited and those that were removed follow: `:<id>[,<id>]:<id>[,<id>]`, or `:$`. A feed
 * takes less than a payload may, and all is ASCII.
 */
export function encodeChanges({ origin, changes }: ChangeNotice): string[] {
  const payloads: string[] = [];
  for (const { key, readIds, ...notes } of changes) {
    const feed = ` ${key}:${readIds.join(',')}${encodeNotes(notes)}`;
    const last = payloads.at(-1);
    if (last === undefined || last.length + feed.length > MAX_PAYLOAD_BYTES) payloads.push(origin + feed);
    else payloads[payloads.length - 1] = last + feed;
  }
  return payloads;
}

export function decodeChanges(payload: string): ChangeNotice {
  const [origin = '', ...feeds] = payload.split(' ');
  const changes = feeds.map((feed) => {
    const [key = '', readIds = '', edited = '', removed = ''] = feed.split(':');
    const notes = {
      ...(edited && edited !== UNNAMED && { edited: decodeIds(edited) }),
      ...(removed && { removed: decodeIds(removed) }),
      ...(edited === UNNAMED && { isUnnamed: true }),
    };
    return { key, readIds: readIds.split(',') as ReadId[], ...notes };
  });
  return { origin, changes };
}

/** Ids may be any text, so they are escaped as in an address. */
function encodeNotes({ edited = [], removed = [], isUnnamed = false }: ChangedNotes): string {
  if (!isUnnamed && edited.length + removed.length === 0) return '';
  const ids = [edited, removed].map((some) => some.map(encodeURIComponent).join(',')).join(':');
  return isUnnamed || ids.length > MAX_NOTES_BYTES ? `:${UNNAMED}` : `:${ids}`;
}

function decodeIds(ids: string): NoteId[] {
  return ids.split(',').map(decodeURIComponent) as NoteId[];
}

import type { ReadId } from '../../feeds/names.ts';

/** The channel of notices of committed changes to every process that uses the database. */
export const CHANGE_CHANNEL = 'note_feed_changes';
/** PostgreSQL takes payloads of less than 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7_900;

/** A changed feed, identified by its row because its name is a secret. */
export interface ChangedFeed {
  /** Id of its row: `Feed.key`. */
  readonly key: string;
  /** The read ids whose views are out of date: the one it has and the one it had before. */
  readonly readIds: readonly ReadId[];
}

/** The content of a payload. */
interface ChangeNotice {
  /** See `Transaction.origin`. */
  readonly origin: string;
  readonly changes: readonly ChangedFeed[];
}

/**
 * The payloads of a transaction's changes: its origin, then feeds, each `<key>:<read id>[,<read id>]`, with
 * spaces between them. A feed takes far less than a payload may, and all is ASCII.
 */
export function encodeChanges({ origin, changes }: ChangeNotice): string[] {
  const payloads: string[] = [];
  for (const { key, readIds } of changes) {
    const feed = ` ${key}:${readIds.join(',')}`;
    const last = payloads.at(-1);
    if (last === undefined || last.length + feed.length > MAX_PAYLOAD_BYTES) payloads.push(origin + feed);
    else payloads[payloads.length - 1] = last + feed;
  }
  return payloads;
}

export function decodeChanges(payload: string): ChangeNotice {
  const [origin = '', ...feeds] = payload.split(' ');
  const changes = feeds.map((feed) => {
    const [key = '', readIds = ''] = feed.split(':');
    return { key, readIds: readIds.split(',') as ReadId[] };
  });
  return { origin, changes };
}

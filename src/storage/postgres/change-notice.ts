import type { ReadId } from '../../feeds/names.ts';

/** The channel on which committed changes are told to every process that uses the database. */
export const CHANGE_CHANNEL = 'note_feed_changes';
/** PostgreSQL takes payloads of less than 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7_900;

/** A feed that was changed. A feed's name is a secret, so it is told by its row. */
export interface ChangedFeed {
  /** Id of its row: `Feed.key`. */
  readonly key: string;
  /** Those whose views are out of date: the one it has and, where it was changed, the one it had. */
  readonly readIds: readonly ReadId[];
}

/**
 * The payloads that tell of changes: feeds with spaces between them, each `<key>:<read id>[,<read id>]`. A notice is
 * ASCII and far shorter than a payload may be.
 */
export function encodeChanges(changes: readonly ChangedFeed[]): string[] {
  const payloads: string[] = [];
  let payload = '';
  for (const { key, readIds } of changes) {
    const notice = `${key}:${readIds.join(',')}`;
    if (payload !== '' && payload.length + 1 + notice.length > MAX_PAYLOAD_BYTES) {
      payloads.push(payload);
      payload = '';
    }
    payload += payload === '' ? notice : ` ${notice}`;
  }
  return payload === '' ? payloads : [...payloads, payload];
}

/** The changes that a payload tells of. */
export function decodeChanges(payload: string): ChangedFeed[] {
  return payload.split(' ').map((notice) => {
    const [key = '', readIds = ''] = notice.split(':');
    return { key, readIds: readIds.split(',') as ReadId[] };
  });
}

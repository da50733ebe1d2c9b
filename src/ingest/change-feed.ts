import type { Feed } from '../feeds/feed.ts';
import { Refusal } from '../refusals.ts';
import type { Written } from '../storage/storage.ts';

/** Retries if the feed changes meanwhile. */
const MAX_ATTEMPTS = 5;

/**
 * Writes to a feed as it is now, again if it changes meanwhile; undefined if there is no such feed.
 * @throws Refusal `busy` if it changes too often; what the two functions throw
 */
export async function changeFeed(
  look: () => Promise<Feed | undefined>,
  write: (feed: Feed) => Promise<Written | undefined>,
): Promise<Written | undefined> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const feed = await look();
    if (feed === undefined) return undefined;
    const written = await write(feed);
    if (written !== undefined) return written;
  }
  throw new Refusal('busy', 'The feed changes too often. Try again in a moment.');
}

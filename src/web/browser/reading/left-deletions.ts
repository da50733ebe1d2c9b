import { feedOfPage } from '../keeping/feeds.ts';

// Deletions that one page leaves to the next one of its window.

/** sessionStorage key: notes that were deleted on their own pages; the page of their feed offers to undo it. */
export const HANDED_OVER = 'deleting';
/** sessionStorage key: deletions whose page was left. The feed's next page checks them, because the service may have been out of reach. */
export const LEFT = 'deletions';

/** Older ones are not carried out any more, ms: the note that they were for may be back, such as by an import. */
const LONGEST_MS = 10 * 60_000;

export interface Deletion {
  /** Tells the pages of other feeds that it is not theirs. */
  readonly feed: string;
  /** Of the note. */
  readonly id: string;
  /** Of the note as the page showed it. */
  readonly etag: string;
}

/** As it is stored. */
interface LeftDeletion extends Deletion {
  /** Ms since the epoch. */
  readonly leftAt: number;
}

export const FEED = feedOfPage();

/** Stores deletions for the next page of this feed, each note once: one Undo takes it back. Throws if the browser blocks its storage. */
export function leaveDeletions(key: string, deletions: Iterable<Deletion>): void {
  const left = [...deletions].map((deletion) => ({ ...deletion, leftAt: Date.now() }));
  const isLeft = (known: Deletion) => left.some(({ feed, id }) => feed === known.feed && id === known.id);
  sessionStorage.setItem(key, JSON.stringify([...leftUnder(key).filter((known) => !isLeft(known)), ...left]));
}

/** Removes the stored deletions of this feed, and returns those that were left in the last ten minutes. */
export function takeDeletions(key: string): Deletion[] {
  const all = leftUnder(key);
  const own = all.filter(({ feed }) => feed === FEED);
  if (own.length > 0)
    sessionStorage.setItem(key, JSON.stringify(all.filter((deletion) => !own.includes(deletion))));
  return own.filter(({ leftAt }) => Date.now() - leftAt < LONGEST_MS);
}

/** The deletions that pages of all feeds have left. */
function leftUnder(key: string): LeftDeletion[] {
  try {
    return [...JSON.parse(sessionStorage.getItem(key) ?? '[]')];
  } catch {
    return [];
  }
}

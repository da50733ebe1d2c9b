import type { PictureRows } from '../picture-rows.ts';
import type { ThreadCalls } from '../thread-calls.ts';
import type { PictureChanges } from './picture-changes.ts';
import type { PictureReads } from './picture-reads.ts';

const SERVED_BY: Record<keyof PictureRows, 'reader' | 'writer'> = {
  pictures: 'reader',
  referenced: 'reader',
  keysBetween: 'reader',
  bytes: 'reader',
  elsewhere: 'reader',
  countFreed: 'reader',
  point: 'writer',
  fill: 'writer',
  beginCopy: 'writer',
  endCopy: 'writer',
  free: 'writer',
  // No other process uses the file, so this one is always the one that claims.
  claim: 'writer',
  forget: 'writer',
  moveElsewhere: 'writer',
};

/** The pictures of an SQLite database, whose methods run on two of its threads. */
export function pictureRows(threads: {
  readonly reader: ThreadCalls<PictureReads>;
  readonly writer: ThreadCalls<PictureChanges>;
}): PictureRows {
  const methods = Object.entries(SERVED_BY).map(([method, by]) => {
    const thread = threads[by] as ThreadCalls<Record<string, (...args: unknown[]) => unknown>>;
    return [method, (...args: unknown[]) => thread.call(method, ...args)];
  });
  return Object.fromEntries(methods) as PictureRows;
}

import type { Stats } from 'node:fs';
import { datePrefixOfId } from '../../feeds/ids.ts';
import { FURTHEST_DATE } from '../../feeds/order.ts';

/** Distinguishes states of a file's bytes without reading them. */
export interface Stamp {
  readonly mtimeMs: number;
  readonly size: number;
}

/** Nobody has read the file yet, so nothing made from it is out of date. */
export const UNSEEN: Stamp = { mtimeMs: -1, size: -1 };

/** The file was read while it could still change without a new stamp, so this equals no stamp. */
export const UNSURE: Stamp = { mtimeMs: Number.NaN, size: Number.NaN };

/** The date of a file in whole ms since the epoch, within the range of dates; some file systems keep others. */
export function dateOfFile({ mtimeMs }: Pick<Stamp, 'mtimeMs'>): number {
  return Math.max(-FURTHEST_DATE, Math.min(FURTHEST_DATE, Math.floor(mtimeMs)));
}

/** The date of a note without a UUID in its id and a date in its metadata: the one in its name, else that of its file. */
export function dateByFile(id: string, file: Pick<Stamp, 'mtimeMs'>): number {
  return datePrefixOfId(id) ?? dateOfFile(file);
}

/** Kernels date files by a clock that ticks every 1 to 10 ms; two edits within a tick look alike. */
export const CLOCK_TICK_MS = 15;

/** Whether the next change could have the same stamp, because this one is so recent. Call it right after `stat`. */
export function isFresh(seen: Stamp): boolean {
  return Math.abs(Date.now() - seen.mtimeMs) < CLOCK_TICK_MS;
}

export function sameStamp(a: Stamp | undefined, b: Stamp | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.mtimeMs === b.mtimeMs && a.size === b.size;
}

/** The stamp to remember right after a look: the one known so far, or one that is not so fresh. */
export function stampToKeep({ mtimeMs, size }: Stamp, known?: Stamp): Stamp {
  const stamp = { mtimeMs, size };
  return sameStamp(known, stamp) || !isFresh(stamp) ? stamp : UNSURE;
}

/** Distinguishes a folder from a later one of its name. */
export function folderIdentity({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string {
  return `${dev}:${ino}`;
}

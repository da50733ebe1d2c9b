import { MAX_LISTED_TAGS, type TagCount } from './storage.ts';

/** The most used of the tags: by count, then by name. There may be many more than it returns, so it never sorts all. */
export function mostUsed(counts: Iterable<TagCount>): TagCount[] {
  let kept: TagCount[] = [];
  const cut = () => kept.sort(byUse).slice(0, MAX_LISTED_TAGS);
  let last: TagCount | undefined;
  for (const one of counts) {
    if (last && byUse(last, one) < 0) continue;
    kept.push(one);
    if (kept.length < 2 * MAX_LISTED_TAGS) continue;
    kept = cut();
    last = kept.at(-1);
  }
  return cut();
}

/** Orders tags by count, then by name. Zero only for the same tag. */
export function byUse(a: TagCount, b: TagCount): number {
  return b.count - a.count || (a.tag < b.tag ? -1 : Number(a.tag !== b.tag));
}

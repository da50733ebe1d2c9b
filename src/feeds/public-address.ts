import { isReadId, type ReadId } from './names.ts';

/** What an address below `/r/` leads to. */
export interface PublicAddress {
  readonly readId: ReadId;
  /** The id of a note, or its file if there is a dot in it; undefined for the feed. */
  readonly note: string | undefined;
  /** Without host and without the path of the instance. */
  readonly path: string;
}

/** What is below a read link and no note: RSS, JSON Feed and the events. */
const OF_FEED: ReadonlySet<string> = new Set(['', 'feed.xml', 'feed.json', 'events']);

/**
 * Reads a path below `/r/`; undefined for any other.
 * @param root path of the instance, without a slash at its end
 */
export function publicAddress(path: string, root: string): PublicAddress | undefined {
  const own = path.startsWith(`${root}/r/`) ? path.slice(root.length) : path;
  const [, readId = '', part = ''] = /^\/r\/([^/]+)(?:\/([^/]*))?\/?$/.exec(own) ?? [];
  if (!isReadId(readId)) return undefined;
  if (OF_FEED.has(part)) return { readId, note: undefined, path: `/r/${readId}` };
  try {
    return { readId, note: decodeURIComponent(part), path: `/r/${readId}/${part}` };
  } catch {
    return undefined;
  }
}

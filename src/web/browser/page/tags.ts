/** A tag of a feed and how many notes have it. */
export interface TagCount {
  readonly tag: string;
  readonly count: number;
}

/**
 * The tags of a feed that begin so, the most frequent first.
 * @param path of the tags in the API
 * @returns undefined if the service does not say
 */
export async function tagsOf(path: string, begun: string): Promise<readonly TagCount[] | undefined> {
  const answer = await fetch(`${path}?q=${encodeURIComponent(begun.trim().toWellFormed())}`).catch(
    () => undefined,
  );
  return answer?.ok ? ((await answer.json()) as { tags: TagCount[] }).tags : undefined;
}

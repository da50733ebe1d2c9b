import { eventually } from './eventually.ts';
import { ask, type Reply } from './service.ts';

/**
 * Asks for something that is searched for, again while that is refused as `busy`: the index is not made yet, or a busy machine
 * leaves a search less time than it may take.
 */
export async function unlessBusy<T extends { readonly status: number }>(
  search: () => Promise<T>,
): Promise<T> {
  let reply!: T;
  await eventually(async () => {
    reply = await search();
    return reply.status !== 503;
  });
  return reply;
}

/** The hits of a list. */
export function search(listUrl: string, query: string): Promise<Reply> {
  return unlessBusy(() => ask(listUrl + query));
}

/** Waits until a query finds so many notes. Throws if it does not within `PATIENCE_MS`. */
export async function untilFound(listUrl: string, query: string, count: number): Promise<void> {
  const isFound = await eventually(async () => (await ask(listUrl + query)).json.notes?.length === count);
  if (!isFound) throw new Error(`${query} does not find ${count} notes`);
}

/** The query of a text to search for. */
export function q(text: string): string {
  return `?q=${encodeURIComponent(text)}`;
}

import { eventually } from './eventually.ts';
import { ask, type Reply } from './service.ts';

/** The hits of a list, once the index is made. */
export async function search(listUrl: string, query: string): Promise<Reply> {
  let reply!: Reply;
  await eventually(async () => {
    reply = await ask(listUrl + query);
    return reply.status !== 503;
  });
  return reply;
}

/** Waits until a query finds so many notes. Throws if it does not within a minute. */
export async function untilFound(listUrl: string, query: string, count: number): Promise<void> {
  const isFound = await eventually(async () => (await ask(listUrl + query)).json.notes?.length === count);
  if (!isFound) throw new Error(`${query} does not find ${count} notes`);
}

/** The query of a text to search for. */
export function q(text: string): string {
  return `?q=${encodeURIComponent(text)}`;
}

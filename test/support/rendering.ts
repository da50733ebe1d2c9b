import { ask, post, type TestService } from './service.ts';

/** Tries until a note is shown as HTML; each with a text of its own, for one that took too long is not tried again. */
const TRIES = 10;

/**
 * Waits until a service renders notes as fast as ever: on a busy machine its threads take longer to start than a reader
 * waits for HTML, who then gets the text.
 */
export async function untilItRenders(url: string): Promise<void> {
  await Promise.all(['one', 'other'].map((name) => untilOneIsRendered(`${url}/rendering-${name}`)));
}

async function untilOneIsRendered(feedUrl: string): Promise<void> {
  for (let i = 0; i < TRIES; i++) {
    const { json } = await post(`${feedUrl}-${i}`, `*${feedUrl} ${i}*`);
    if ((await ask(json.read_url)).text.includes('&lt;em&gt;')) return;
  }
  throw new Error(`In ${TRIES} tries no note was rendered`);
}

/** The tasks that run and those that wait, by the pool of their threads. */
export async function renderingTasks({ url }: Pick<TestService, 'url'>): Promise<Record<string, number>> {
  const { text } = await ask(`${url}/metrics`);
  const counts: Record<string, number> = {};
  for (const [, pool = '', count] of text.matchAll(
    /^service_pool_(?:running|waiting)\{pool="(\w*parsing)"\} (\d+)$/gim,
  ))
    counts[pool] = (counts[pool] ?? 0) + Number(count);
  return counts;
}

/** Whether no text is being rendered. */
export function isIdle(tasks: Record<string, number>): boolean {
  return Object.values(tasks).every((count) => count === 0);
}

/** How many tasks have rendered texts, those given up included. */
export async function renderedTasks({ url }: Pick<TestService, 'url'>): Promise<number> {
  const { text } = await ask(`${url}/metrics`);
  return Number(/^service_task_duration_seconds_count\{task="render-texts"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

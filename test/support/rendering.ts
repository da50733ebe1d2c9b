import { ask, post } from './service.ts';

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

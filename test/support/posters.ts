import { setTimeout as wait } from 'node:timers/promises';
import { eventually } from './eventually.ts';
import { ask, post } from './service.ts';

/** Clients that post notes into one feed until they are stopped. */
export class Posters {
  /** Texts that were acknowledged, in this order. */
  readonly acknowledged: string[] = [];
  /** When the last acknowledged post was sent; a time of `performance`. */
  lastSent = 0;
  /** All answers but 201. */
  readonly refusals = new Set<string>();
  readonly #feed: string;
  readonly #posting: Promise<unknown>;
  #isOver = false;

  /** @param feed its address */
  constructor(feed: string, clients = 8) {
    this.#feed = feed;
    this.#posting = Promise.all(Array.from({ length: clients }, (_, client) => this.#post(client)));
  }

  /** Waits until so many more are acknowledged; false if that takes a minute. */
  more(count = 1): Promise<boolean> {
    const enough = this.acknowledged.length + count;
    return eventually(() => this.acknowledged.length >= enough);
  }

  /** Waits for the last answers. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#posting;
  }

  async #post(client: number): Promise<void> {
    for (let n = 0; !this.#isOver; n += 1) {
      const text = `note ${client}.${n}`;
      const sent = performance.now();
      const { status, json } = await post(this.#feed, text);
      if (status === 201) {
        this.acknowledged.push(text);
        this.lastSent = sent;
      } else {
        this.refusals.add(`${status} ${json?.code}`);
        // Clients that ask as fast as they can would leave the servers no time.
        await wait(20);
      }
    }
  }
}

/** The texts of all notes of a feed, by the address of the service. */
export async function textsOf(url: string, feed: string): Promise<string[]> {
  const texts: string[] = [];
  for (let before: string | undefined = ''; before !== undefined; ) {
    const { json } = await ask(`${url}/api/v1/feeds/${feed}/notes?limit=100${before}`);
    texts.push(...json.notes.map(({ content }: { content: string }) => content));
    before = json.next === null ? undefined : `&before=${encodeURIComponent(json.next)}`;
  }
  return texts;
}

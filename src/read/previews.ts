import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';
import { unrendered } from './note-html.ts';
import type { Rendered } from './note-text.ts';
import type { Renderer } from './renderer.ts';

/** Renders texts that are no notes yet. Each client has one at a time: who types on needs only the newest. */
export class Previews {
  readonly #renderer: Pick<Renderer, 'text'>;
  /** By client; aborting ends the preview. */
  readonly #newest = new Map<string, AbortController>();

  constructor(renderer: Pick<Renderer, 'text'>) {
    this.#renderer = renderer;
  }

  /** @throws Refusal `busy`, also if the client asks for another one meanwhile; ClientGone */
  async render(
    content: Uint8Array,
    { client, signal }: Pick<Exchange, 'client' | 'signal'>,
  ): Promise<Rendered> {
    this.#newest.get(client)?.abort(new Refusal('busy', 'A newer preview has been asked for.'));
    const own = new AbortController();
    this.#newest.set(client, own);
    try {
      const ended = AbortSignal.any([own.signal, signal]);
      return (await this.#renderer.text(content, `preview ${client}`, ended)) ?? unrendered(content);
    } finally {
      if (this.#newest.get(client) === own) this.#newest.delete(client);
    }
  }
}

import { isReadId } from '../feeds/names.ts';
import type { Storage } from '../storage/storage.ts';
import { Hub, type HubParts } from './hub.ts';

interface WebSubParts extends HubParts {
  readonly storage: Pick<Storage, 'feedByReadId' | 'onChange'>;
}

/** Tells hubs of every change that this process makes (contract §15, "WebSub"). */
export class WebSub {
  readonly #hubs: readonly Hub[];

  /** @param urls of the hubs, at least one */
  constructor(urls: readonly string[], parts: WebSubParts) {
    this.#hubs = urls.map((url) => new Hub(url, parts));
    parts.storage.onChange(({ readIds, isForeign }) => {
      if (isForeign) return;
      // A feed without a read link has no address.
      for (const readId of readIds.filter(isReadId)) for (const hub of this.#hubs) hub.announce(readId);
    });
  }

  /** Tells hubs what they have not been told, for a second at most. Call it before the storage closes. */
  async stop(): Promise<void> {
    await Promise.all(this.#hubs.map((hub) => hub.stop()));
  }
}

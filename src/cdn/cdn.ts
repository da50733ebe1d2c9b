import { cacheTag } from '../feeds/cache-tag.ts';
import { isReadId, type ReadId } from '../feeds/names.ts';
import { POST_TIMEOUT_MS, PostTarget } from '../post-target.ts';
import type { Storage } from '../storage/storage.ts';
import type { Log } from '../telemetry/log.ts';
import type { AnnouncementOutcome } from '../telemetry/metrics.ts';
import { Purges } from './purges.ts';

interface CdnParts {
  /** Where it takes purges. */
  readonly url: string;
  /** Sent as Bearer token. */
  readonly token: string | undefined;
  readonly storage: Pick<Storage, 'onChange'>;
  readonly log: Pick<Log, 'warn'>;
  readonly observe: ((outcome: AnnouncementOutcome) => void) | undefined;
}

/** A cache in front: purges what it has of each feed that this process changes (docs/deploy.md, "Behind a CDN"). */
export class Cdn {
  readonly #parts: CdnParts;
  readonly #target: PostTarget;
  readonly #purges: Purges;

  constructor(parts: CdnParts) {
    this.#parts = parts;
    this.#target = new PostTarget(parts.url, 'the CDN');
    this.#purges = new Purges({
      purge: (readIds) => this.#purge(readIds),
      onLost: (reason) => this.#onLost(reason),
    });
    parts.storage.onChange(({ readIds, isForeign }) => {
      // A feed without a read link has no address.
      if (!isForeign) for (const readId of readIds.filter(isReadId)) this.#purges.add(readId);
    });
  }

  /** Purges what waits, for a second at most, and closes all connections. */
  async stop(): Promise<void> {
    await this.#purges.stop();
    await this.#target.close();
  }

  async #purge(readIds: readonly ReadId[]): Promise<boolean> {
    const { token, log, observe } = this.#parts;
    const tags = readIds.map(cacheTag);
    const headers = {
      'content-type': 'application/json',
      'cache-tag': tags.join(),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    try {
      await this.#target.post(headers, JSON.stringify({ tags }), AbortSignal.timeout(POST_TIMEOUT_MS));
      observe?.('accepted');
      return true;
    } catch (err) {
      observe?.('failed');
      const message =
        'the CDN did not take a purge: until one succeeds it may show what changed, for some minutes';
      this.#target.report(() => log.warn(message, { cdn: this.#target.host, err }));
      return false;
    }
  }

  #onLost(reason: 'given_up' | 'dropped'): void {
    this.#parts.observe?.(reason);
    if (reason === 'given_up') return;
    const message = 'the CDN is too slow: purges of the feeds that wait longest are dropped from now on';
    this.#target.reportDropped(() => this.#parts.log.warn(message, { cdn: this.#target.host }));
  }
}

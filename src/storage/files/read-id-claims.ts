import { derivedReadId } from '../../feeds/ids.ts';
import type { FeedName, ReadId } from '../../feeds/names.ts';

/**
 * Who has which read id. Two feeds never share one: while a feed holds the id that another one's `.readid` names
 * too, the other goes by the id derived from its name, and gets the stored one when it becomes free.
 */
export class ReadIdClaims {
  readonly #secret: Uint8Array;
  readonly #holders = new Map<ReadId, FeedName>();
  /** Feeds whose `.readid` names an id that another one has. */
  readonly #waiting = new Map<ReadId, FeedName[]>();

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  holder(readId: ReadId): FeedName | undefined {
    return this.#holders.get(readId);
  }

  /** Keeps a read id for a feed about to be made; false when another feed has it. */
  reserve(name: FeedName, readId: ReadId): boolean {
    const holder = this.#holders.get(readId);
    if (holder === undefined) this.#holders.set(readId, name);
    return holder === undefined || holder === name;
  }

  /** The feed for which an id was reserved was not made. */
  unreserve(readId: ReadId): void {
    this.#holders.delete(readId);
  }

  /** Gives a feed that holds none its read id: the stored one if it is free. */
  claim(name: FeedName, stored: ReadId | undefined): ReadId {
    if (stored !== undefined && this.reserve(name, stored)) return stored;
    if (stored !== undefined) this.#waiting.set(stored, [...(this.#waiting.get(stored) ?? []), name].sort());
    const readId = this.#derived(name);
    this.#holders.set(readId, name);
    return readId;
  }

  /** Takes back what `claim` gave. Returns the feed that now should claim anew: the first by name that waits for it. */
  release(name: FeedName, stored: ReadId | undefined, held: ReadId): FeedName | undefined {
    const others = stored && this.#waiting.get(stored)?.filter((other) => other !== name);
    if (stored !== undefined && others?.length) this.#waiting.set(stored, others);
    else if (stored !== undefined) this.#waiting.delete(stored);
    this.#holders.delete(held);
    return this.#waiting.get(held)?.[0];
  }

  #derived(name: FeedName): ReadId {
    let readId = derivedReadId(this.#secret, name);
    // Only somebody who wrote a derived id into another feed's .readid gets here; "/" is in no feed's name.
    for (let n = 2; this.#holders.has(readId); n += 1) {
      readId = derivedReadId(this.#secret, `${name}/${n}` as FeedName);
    }
    return readId;
  }
}

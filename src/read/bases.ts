/** Bases with a slot at once. */
const SLOTS = 8;
/** An idle base loses its slot after this time, in ms. */
const IDLE_MS = 60_000;

/**
 * The bases whose views are cached. Without `PUBLIC_URL` a base comes from the Host header, which clients choose freely, so
 * only the first few get a slot.
 */
export class KnownBases {
  readonly #slots = new Map<string, { usedAt: number }>();

  /** Records a request for this base, so that it is not idle. */
  use(base: string): void {
    const slot = this.#slots.get(base);
    if (slot !== undefined) slot.usedAt = Date.now();
  }

  /** Whether views for this base may be cached; takes a free slot if it has none. */
  admit(base: string, now = Date.now()): boolean {
    if (!this.#slots.has(base) && this.#slots.size >= SLOTS && !this.#freeSlot(now)) return false;
    this.#slots.set(base, { usedAt: now });
    return true;
  }

  #freeSlot(now: number): boolean {
    for (const [base, { usedAt }] of this.#slots) if (now - usedAt > IDLE_MS) return this.#slots.delete(base);
    return false;
  }
}

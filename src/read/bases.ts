/** How many bases have a place at once. */
const PLACES = 8;
/** A base that nobody asked for in this long gives its place away, in ms. */
const IDLE = 60_000;

/**
 * The bases for which answers are kept. Without `PUBLIC_URL` a base comes from the Host header, which a client
 * makes up as it likes: only the first few have a place, and a busy one keeps it.
 */
export class KnownBases {
  readonly #places = new Map<string, { usedAt: number }>();

  /** Notes that a client asks for this base, so that it keeps its place, if it has one. */
  use(base: string): void {
    const place = this.#places.get(base);
    if (place !== undefined) place.usedAt = Date.now();
  }

  /** Whether what is made for this base may be kept. */
  admit(base: string, now = Date.now()): boolean {
    if (!this.#places.has(base) && this.#places.size >= PLACES && !this.#freePlace(now)) return false;
    this.#places.set(base, { usedAt: now });
    return true;
  }

  #freePlace(now: number): boolean {
    for (const [base, { usedAt }] of this.#places) if (now - usedAt > IDLE) return this.#places.delete(base);
    return false;
  }
}

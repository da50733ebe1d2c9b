/** When the world begins, ms since the epoch. */
const BEGINNING = Date.UTC(2026, 0, 1);

interface Event {
  readonly at: number;
  readonly run: () => void;
}

/** A clock, and what is to happen, the earliest first. Time passes only from one event to the next. */
export class SimulatedTime {
  /** The simulated time in ms since the epoch, with fractions. */
  now = BEGINNING;
  #events: Event[] = [];

  /** @returns a function that takes the event back */
  after(ms: number, run: () => void): () => void {
    const event = { at: this.now + Math.max(0, ms), run };
    const place = this.#events.findLastIndex(({ at }) => at <= event.at);
    this.#events.splice(place + 1, 0, event);
    return () => {
      this.#events = this.#events.filter((one) => one !== event);
    };
  }

  /** Lets the next event happen; false if there is none. */
  advance(): boolean {
    const event = this.#events.shift();
    if (!event) return false;
    this.now = event.at;
    event.run();
    return true;
  }

  /** Nothing of what was to happen will. */
  forget(): void {
    this.#events = [];
  }
}

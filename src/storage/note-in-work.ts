const [CHANGES, LENGTH] = [0, 1];
/** Longer than any key. */
const TEXT_BYTES = 1024;

/** The note that a thread works on, as another thread sees it even while that one hangs. */
export class NoteInWork {
  readonly shared: SharedArrayBuffer;
  readonly #numbers: Int32Array;
  readonly #text: Uint8Array;

  /** @param shared of the other thread */
  constructor(shared = new SharedArrayBuffer(8 + TEXT_BYTES)) {
    this.shared = shared;
    this.#numbers = new Int32Array(shared, 0, 2);
    this.#text = new Uint8Array(shared, 8);
  }

  begin(key: string): void {
    const { written } = new TextEncoder().encodeInto(key, this.#text);
    Atomics.store(this.#numbers, LENGTH, written);
    Atomics.add(this.#numbers, CHANGES, 1);
  }

  end(): void {
    Atomics.store(this.#numbers, LENGTH, 0);
  }

  /** How many notes were begun. */
  get begun(): number {
    return Atomics.load(this.#numbers, CHANGES);
  }

  /** Undefined between two notes. */
  get key(): string | undefined {
    const length = Atomics.load(this.#numbers, LENGTH);
    return length === 0 ? undefined : Buffer.from(this.#text.slice(0, length)).toString();
  }

  /** The key, if there is one; then the work on that note is over. */
  take(): string | undefined {
    const { key } = this;
    this.end();
    return key;
  }
}

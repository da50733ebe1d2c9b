import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../random.ts';
import { Broken, Failed, Idle, Unavailable, type WriteKind } from './write-kind.ts';

/** The pause of a client after a write that failed, ms. */
const PAUSE_MS = 5;

interface WritingOptions {
  readonly random: Random;
  /** How many write at once, each one request after the other; as many as the kinds have together unless given. */
  readonly clients?: number;
  /** Called at once when a write has succeeded; the client waits for it. */
  readonly onAnswer?: (kind: WriteKind) => unknown;
  /** Called when an answer breaks a promise of the service. */
  readonly onBroken?: () => void;
  /** Whether a fault may be the reason for a write that fails now. */
  readonly isFaulty?: () => boolean;
}

/** Writes of all kinds by several clients, until it is stopped. */
export class Writing {
  /** What was wrong. */
  readonly broken: string[] = [];
  readonly #options: WritingOptions;
  readonly #clients: Promise<void>;
  #isOver = false;

  constructor(kinds: readonly WriteKind[], options: WritingOptions) {
    this.#options = options;
    const { random } = options;
    const all = kinds.flatMap((kind) =>
      Array.from({ length: kind.clients }, (_, client) => ({ kind, client })),
    );
    const own: (typeof all)[] = Array.from(
      { length: Math.min(options.clients ?? all.length, all.length) },
      () => [],
    );
    const first = random.below(own.length);
    for (const [n, one] of all.entries()) own[(first + n) % own.length]!.push(one);
    const write = async (mine: typeof all) => {
      while (!this.#isOver) {
        const { kind, client } = random.oneOf(mine);
        await this.#write(kind, client);
      }
    };
    this.#clients = Promise.all(own.map(write)).then(() => {});
  }

  /** Settles when the last write has ended. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#clients;
  }

  async #write(kind: WriteKind, client: number): Promise<void> {
    const { onAnswer, onBroken, isFaulty } = this.#options;
    try {
      await kind.write(client);
      await onAnswer?.(kind);
    } catch (error) {
      const mayFail = isFaulty?.() && (error instanceof Failed || !(error instanceof Broken));
      if (!mayFail && !(error instanceof Idle || error instanceof Unavailable)) {
        this.broken.push(`${kind.name}: ${error instanceof Broken ? error.message : (error as Error).stack}`);
        onBroken?.();
      }
      await delay(PAUSE_MS);
    }
  }
}

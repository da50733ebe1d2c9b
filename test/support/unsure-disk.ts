import { basename } from 'node:path';
import type { MadeCall } from './failing-calls.ts';
import type { Random } from './random.ts';

interface File {
  bytes: Uint8Array;
}

/** What a call did to the names in a folder. */
interface Step {
  readonly removed?: string;
  readonly added?: readonly [name: string, file: File];
}

type Names = Map<string, File>;

/**
 * A disk that keeps, when the power is cut, what was done in a folder before the last sync and any selection of what
 * was done after it: more than real file systems do, most of which keep the order. The bytes of a file are taken to be
 * synced before it gets its final name.
 */
export class UnsureDisk {
  readonly #start: Names;
  readonly #now: Names;
  readonly #descriptors = new Map<unknown, File>();
  /** The steps after each sync. */
  readonly #stages: Step[][] = [[]];
  #known = 0;

  constructor(files: ReadonlyMap<string, Uint8Array>) {
    this.#start = new Map([...files].map(([name, bytes]) => [name, { bytes }]));
    this.#now = new Map(this.#start);
  }

  /** A sync that succeeds, after these calls. */
  sync(made: readonly MadeCall[]): void {
    this.end(made);
    this.#stages.push([]);
  }

  /** These were all calls. */
  end(made: readonly MadeCall[]): void {
    for (const call of made.slice(this.#known)) {
      const step = this.#stepOf(call);
      if (!step) continue;
      apply(this.#now, step);
      this.#stages.at(-1)!.push(step);
    }
    this.#known = made.length;
  }

  /**
   * What may be there after a power cut, and whether everything had been synced by then.
   * @param most states of each stage: if it has more, those with nothing and with everything, and some that are drawn
   */
  *possibleStates(
    most: number,
    random: Random,
  ): Generator<{ files: Map<string, Uint8Array>; isSettled: boolean }> {
    const names = new Map(this.#start);
    for (const [i, steps] of this.#stages.entries()) {
      for (const selection of selections(2 ** steps.length, most, random)) {
        const kept = new Map(names);
        for (const [bit, step] of steps.entries()) if (selection & (1 << bit)) apply(kept, step);
        const files = new Map([...kept].map(([name, file]) => [name, file.bytes]));
        yield { files, isSettled: i === this.#stages.length - 1 };
      }
      for (const step of steps) apply(names, step);
    }
  }

  #stepOf({ name, args, result }: MadeCall): Step | undefined {
    const from = basename(String(args[0]));
    const to = basename(String(args[1]));
    const file = this.#now.get(from);
    switch (name) {
      case 'openSync': {
        const made = { bytes: Buffer.alloc(0) };
        this.#descriptors.set(result, made);
        return { added: [from, made] };
      }
      case 'writeSync':
        this.#descriptors.get(args[0])!.bytes = Buffer.from(args[1] as Uint8Array);
        return undefined;
      case 'linkSync':
        return { added: [to, file!] };
      case 'renameSync':
        return { removed: from, added: [to, file!] };
      default:
        return { removed: from };
    }
  }
}

function selections(count: number, most: number, { below }: Random): readonly number[] {
  if (count <= most) return Array.from({ length: count }, (_, n) => n);
  return [0, count - 1, ...Array.from({ length: most - 2 }, () => below(count))];
}

function apply(names: Names, { removed, added }: Step): void {
  if (removed !== undefined) names.delete(removed);
  if (added) names.set(...added);
}

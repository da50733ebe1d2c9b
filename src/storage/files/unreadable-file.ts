import { Refusal } from '../../refusals.ts';
import type { FeedLog } from './feed-log.ts';
import type { Stamp } from './stamp.ts';

/** A file that people may have written and that cannot be read: it counts as absent, but nothing overwrites it. */
export class UnreadableFile extends Refusal {
  /** Its state; undefined if it may become readable without another one. */
  readonly stamp: Stamp | undefined;
  readonly #file: string;
  readonly #why: string;

  /** @param why in words that fit into brackets */
  constructor(file: string, why: string, stamp?: Stamp) {
    super('unreadable_file', `The file ${file} cannot be read (${why}): mend or remove it first.`);
    this.stamp = stamp;
    this.#file = file;
    this.#why = why;
  }

  tell(log: FeedLog): void {
    const changedAt = this.stamp && new Date(this.stamp.mtimeMs).toISOString();
    const fields = { file: this.#file, why: this.#why, changedAt };
    log.warnOnce('a file cannot be read: it counts as absent, and is not overwritten', fields);
  }
}

import { join } from 'node:path';
import { isReadId, type ReadId } from '../../feeds/names.ts';
import type { FileWriter } from './durable.ts';
import { RETIRED_FILE } from './names.ts';
import { readWhole } from './read-file.ts';

/**
 * The read ids of deleted feeds, which nobody gets again (contract §3): the lines of `.deleted-read-ids` in the
 * data folder. It holds no feed's name.
 */
export class RetiredReadIds {
  readonly #dir: string;
  readonly #writer: Pick<FileWriter, 'append' | 'change'>;
  readonly #ids: Set<ReadId>;
  /** The file may end in a part of a line: nothing may be added to it, so it is written anew. */
  #torn: boolean;
  #last: Promise<unknown> = Promise.resolve();

  constructor(dir: string, writer: Pick<FileWriter, 'append' | 'change'>, text: string) {
    this.#dir = dir;
    this.#writer = writer;
    this.#ids = new Set(text.split('\n').filter(isReadId));
    this.#torn = text !== '' && !text.endsWith('\n');
  }

  has(readId: ReadId): boolean {
    return this.#ids.has(readId);
  }

  /** Settles when it is durable that the read id is not given again. */
  add(readId: ReadId): Promise<void> {
    const adding = this.#last.then(() => this.#add(readId));
    this.#last = adding.catch(() => undefined);
    return adding;
  }

  async #add(readId: ReadId): Promise<void> {
    if (this.#ids.has(readId) && !this.#torn) return;
    this.#ids.add(readId);
    const rewrite = this.#torn;
    this.#torn = true;
    if (rewrite) {
      const bytes = Buffer.from([...this.#ids, ''].join('\n'));
      await this.#writer.change(this.#dir, [{ name: RETIRED_FILE, bytes }]);
    } else {
      await this.#writer.append(this.#dir, RETIRED_FILE, Buffer.from(`${readId}\n`));
    }
    this.#torn = false;
  }
}

/** The text of the file of retired read ids; empty when there is none. */
export async function readRetired(dir: string): Promise<string> {
  const file = await readWhole(join(dir, RETIRED_FILE));
  return file ? new TextDecoder().decode(file.bytes) : '';
}

import type { Stats } from 'node:fs';
import type { StoredFile } from '../storage.ts';
import { asRefusal, unavailable } from './failures.ts';
import { dateOfFile } from './stamp.ts';
import * as sys from './syscalls.ts';

const PIECE_BYTES = 64 * 1024;

/** A note's file, held open: what is read stays one state of it even when the note is replaced or deleted. */
export class OpenedFile implements StoredFile {
  readonly size: number;
  /** Whole ms since the epoch. */
  readonly modifiedAt: number;
  readonly sha256: string | undefined;
  readonly #fd: number;

  constructor(fd: number, stats: Stats, sha256: string | undefined) {
    this.#fd = fd;
    this.sha256 = sha256;
    this.size = stats.size;
    this.modifiedAt = dateOfFile(stats);
  }

  /** Throws `store_unavailable` when the disk fails, or when the file is cut short by hand meanwhile. */
  async *read(start: number, end: number): AsyncIterable<Uint8Array> {
    let position = start;
    while (position < end) {
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, end - position));
      const count = await sys.read(this.#fd, piece, position).catch((error) => {
        throw asRefusal(error);
      });
      if (count === 0) throw unavailable(new Error('the file became shorter while it was read'));
      yield piece.subarray(0, count);
      position += count;
    }
  }

  async close(): Promise<void> {
    sys.close(this.#fd);
  }
}

import { move } from 'piscina';
import type { Coding } from '../src/http/representation.ts';
import { compress } from '../src/read/compress.ts';

/** Compresses bytes. Returns a `Uint8Array`, moved and not copied. */
export default function compressOnWorker(task: {
  readonly bytes: Uint8Array;
  readonly coding: Coding;
}): unknown {
  return move(compress(task.bytes, task.coding));
}

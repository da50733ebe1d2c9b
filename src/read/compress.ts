import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Coding } from '../http/representation.ts';

const GZIP_LEVEL = 6;
/** Far smaller than gzip for about the same CPU time; the levels above take several times as long. */
const BROTLI_QUALITY = 5;

/** Compresses bytes for HTTP. */
export function compress(bytes: Uint8Array, coding: Coding): Uint8Array<ArrayBuffer> {
  const packed = coding === 'gzip' ? gzipSync(bytes, { level: GZIP_LEVEL }) : brotli(bytes);
  // A small result is in Node's buffer pool, which cannot be moved to another thread.
  return packed.byteLength === packed.buffer.byteLength ? packed : new Uint8Array(packed);
}

function brotli(bytes: Uint8Array): Buffer<ArrayBuffer> {
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

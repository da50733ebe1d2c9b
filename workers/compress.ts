import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { move } from 'piscina';

/** Bytes to compress for HTTP. */
interface CompressTask {
  readonly bytes: Uint8Array;
  readonly coding: 'gzip' | 'br';
}

const GZIP_LEVEL = 6;
/** Far smaller than gzip for about the same CPU time; the levels above take several times as long. */
const BROTLI_QUALITY = 5;

/** Compresses bytes. Returns a `Uint8Array`, moved and not copied. */
export default function compress({ bytes, coding }: CompressTask): unknown {
  const packed = coding === 'gzip' ? gzipSync(bytes, { level: GZIP_LEVEL }) : brotli(bytes);
  // A small result is in Node's buffer pool, which cannot be moved.
  const own = packed.byteLength === packed.buffer.byteLength ? packed : new Uint8Array(packed);
  return move(own);
}

function brotli(bytes: Uint8Array): Uint8Array {
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

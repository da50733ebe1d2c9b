/** The most that a slow reader holds of a stored body, bytes. */
export const PIECE_BYTES = 256 * 1024;
/** Who takes a piece for longer is a slow reader, ms. */
const SLOW_MS = 200;

/** A body that is read when it is asked for. */
export interface StoredBody {
  readonly size: number;
  /** Bytes `start` (inclusive) to `end` (exclusive), in pieces whose memory may be used again. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}

/** The first `size` bytes of a body. */
export function readFirst(body: Pick<StoredBody, 'read'>, size: number): Promise<Uint8Array<ArrayBuffer>> {
  return readPart(body, 0, size);
}

/** Bytes `start` (inclusive) to `end` (exclusive) of a body. */
export async function readPart(
  body: Pick<StoredBody, 'read'>,
  start: number,
  end: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  let at = 0;
  for await (const piece of body.read(start, end)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes.subarray(0, at);
}

/**
 * Those bytes in pieces, each valid until the next is asked for. If the reader is slow, only the current piece stays in memory: the
 * read is ended, because a store serves few reads at once. From then on each piece is a read of its own.
 */
export async function* readInPieces(
  body: Pick<StoredBody, 'read'>,
  start: number,
  end: number,
  pieceBytes = PIECE_BYTES,
): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(Math.min(pieceBytes, end - start));
  let readsEach = false;
  for (let at = start, from = -1; at < end && at !== from; ) {
    from = at;
    const reading = body
      .read(at, readsEach ? Math.min(at + buffer.length, end) : end)
      [Symbol.asyncIterator]();
    let ahead: Uint8Array | undefined;
    const leave = () => {
      readsEach = true;
      ahead = undefined;
      reading.return?.().catch(() => {});
    };
    try {
      for (;;) {
        if (ahead === undefined || ahead.length === 0) {
          const next = await reading.next();
          if (next.done) break;
          ahead = next.value;
        }
        const piece = buffer.subarray(0, ahead.length);
        piece.set(ahead.subarray(0, piece.length));
        ahead = ahead.subarray(piece.length);
        at += piece.length;
        const timer = setTimeout(leave, SLOW_MS);
        try {
          yield piece;
        } finally {
          clearTimeout(timer);
        }
      }
    } finally {
      leave();
    }
  }
}

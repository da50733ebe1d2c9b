const KIB = 1024;

/** Largest markdown text, bytes. */
export const MAX_TEXT_BYTES = 100 * KIB;
/** The most pictures of one multipart request. */
export const MAX_FILES_PER_REQUEST = 10;
const MULTIPART_OVERHEAD_BYTES = 64 * KIB;

/** The largest body of a request: a multipart post with a text and ten pictures (docs/specification.md, "Limits"). */
export function largestRequestBytes(maxImageBytes: number): number {
  return MAX_TEXT_BYTES + MAX_FILES_PER_REQUEST * maxImageBytes + MULTIPART_OVERHEAD_BYTES;
}

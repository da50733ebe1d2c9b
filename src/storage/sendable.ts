/**
 * A value as it may be sent to another thread: shared memory is shared; of other memory exactly these bytes are
 * copied, not the buffer they are a part of.
 */
export function sendable<P extends { readonly bytes: Uint8Array | undefined }>(part: P): P {
  const { bytes } = part;
  if (!bytes || bytes.byteLength === bytes.buffer.byteLength || bytes.buffer instanceof SharedArrayBuffer)
    return part;
  return { ...part, bytes: new Uint8Array(bytes) };
}

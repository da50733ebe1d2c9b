const BYTEA_OID = 17;
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;

/**
 * At least one value, as PostgreSQL's binary form of a `bytea[]`. The client would send an array as text, in which each
 * byte takes two.
 */
export function byteaArray(values: readonly Uint8Array[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  const [dimensions, hasNull, firstIndex] = [1, 0, 1];
  for (const [n, field] of [dimensions, hasNull, BYTEA_OID, values.length, firstIndex].entries())
    header.writeInt32BE(field, n * 4);
  const parts = values.flatMap((value) => {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeInt32BE(value.byteLength);
    return [length, value];
  });
  return Buffer.concat([header, ...parts]);
}

/** The UTF-8 bytes of a text as a header value: browsers send one byte per character. */
export function headerBytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
}

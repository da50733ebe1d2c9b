/** A text as a header value of its UTF-8 bytes: browsers take one character for a byte. */
export function headerBytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
}

// Bytes that are not UTF-8, which only a hand-placed file can hold, become U+FFFD in both.
const exact = new TextDecoder('utf-8', { ignoreBOM: true });
const shown = new TextDecoder('utf-8');

/** A note's text as posted: a byte order mark stays. */
export function exactText(content: Uint8Array): string {
  return exact.decode(content);
}

/** A note's text as shown: without a byte order mark. */
export function shownText(content: Uint8Array): string {
  return shown.decode(content);
}

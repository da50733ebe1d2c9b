/** The UTF-8 bytes of a text as a header value: browsers send one byte per character. */
export function headerBytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
}

/** A number of bytes for people: `1.4 MB`. */
export function bytesText(bytes: number): string {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** A time of today by the clock, else with its day. */
export function timeText(time: number): string {
  const date = new Date(time);
  const isToday = date.toDateString() === new Date().toDateString();
  return date.toLocaleString([], { timeStyle: 'short', ...(!isToday && { dateStyle: 'medium' }) });
}

/** A text that no other is equal to. `crypto.randomUUID` exists only with https and on localhost. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16)).join('');
}

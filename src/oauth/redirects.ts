const MAX_LENGTH = 512;
/** The client's own machine, where http is safe (RFC 8252 §7.3). */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a client may register this redirect URI (contract §11). */
export function isRedirectUri(text: string): boolean {
  // The URL parser drops some characters and takes a backslash for a slash.
  if (text.length > MAX_LENGTH || !/^https?:\/\/[\x21-\x7e]+$/.test(text) || /[#\\]/.test(text)) return false;
  if (!URL.canParse(text) || /^[^/?]*@/.test(text.slice(text.indexOf('//') + 2))) return false;
  return text.startsWith('https:') || isLoopback(new URL(text));
}

/** Whether a URI is registered; on the client's own machine its port may differ. */
export function isRegistered(text: string, registered: readonly string[]): boolean {
  return isRedirectUri(text) && registered.some((one) => one === text || isSameButPort(one, text));
}

function isSameButPort(one: string, other: string): boolean {
  const [first, second] = [new URL(one), new URL(other)];
  if (first.protocol !== 'http:' || !isLoopback(first)) return false;
  first.port = second.port = '';
  return first.href === second.href;
}

function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.has(hostname);
}

import { isIPv4, isIPv6 } from 'node:net';

/** The eight groups of an IPv6 address. The URL parser knows its written forms, except zones. */
function groupsOf(address: string): number[] {
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`);
  const [before = [], after = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))));
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** An IPv4 address in the form of an IPv6 one is the same client (RFC 4291 §2.5.5.2). */
function clientOfGroups(groups: readonly number[]): string {
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  const bytes = groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]);
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return isMapped ? bytes.join('.') : `${network.join(':')}::/64`;
}

/** The client of a socket, from the 4 or 16 bytes of its peer's address. */
export function clientOfSocket(address: ArrayBuffer): string {
  if (address.byteLength === 4) return new Uint8Array(address).join('.');
  if (address.byteLength !== 16) return 'unknown';
  const view = new DataView(address);
  return clientOfGroups([0, 2, 4, 6, 8, 10, 12, 14].map((at) => view.getUint16(at)));
}

/** The last element of a list header, which the nearest proxy wrote. */
export function lastElement(header: string): string {
  return header.slice(header.lastIndexOf(',') + 1).trim();
}

/**
 * The client in the last address of `X-Forwarded-For`, which a trusted proxy wrote, without its port: an IPv4 address, or the
 * /64 network of an IPv6 address (contract §2).
 */
export function clientOfForwardedFor(header: string): string | undefined {
  const last = lastElement(header);
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(last)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(last)?.[1] ?? last;
  // A copy, because a slice keeps the whole header in memory as long as the client is counted.
  if (isIPv4(bare)) return bare.split('.').join('.');
  return isIPv6(bare) ? clientOfGroups(groupsOf(bare)) : undefined;
}

import { Refusal } from '../refusals.ts';

/** A host name, an IPv4 address or a bracketed IPv6 address, with or without a port (RFC 9110 §7.2). */
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Nearly all requests name the same host. */
let last = { host: '', scheme: '', base: '' };

/**
 * The absolute base of links from a host and a scheme, without a trailing slash.
 * @throws Refusal `invalid_request` for what is not a host
 */
export function baseUrl(host: string, scheme: 'http' | 'https'): string {
  if (host !== last.host || scheme !== last.scheme) {
    if (!HOST.test(host)) throw new Refusal('invalid_request', 'The Host header does not name a host.');
    last = { host, scheme, base: `${scheme}://${host.toLowerCase()}` };
  }
  return last.base;
}

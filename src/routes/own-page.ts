import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';

/**
 * Whether a page of this instance sends the request, as its browser says: by `Sec-Fetch-Site`, or, where there is no such
 * header (old browsers, and pages without https), by `Origin`.
 */
export function isFromOwnPage(exchange: Exchange): boolean {
  const site = exchange.header('sec-fetch-site', true);
  if (site !== undefined) return site === 'same-origin';
  const origin = exchange.header('origin', true);
  return origin !== undefined && origin === new URL(exchange.base).origin;
}

/**
 * Lets nothing through but what a page of this instance sends.
 * @throws Refusal `foreign_form`
 */
export function refuseAllButOwnPages(exchange: Exchange): void {
  if (!isFromOwnPage(exchange))
    throw new Refusal('foreign_form', 'This form is only taken from the pages of this instance.');
}

/**
 * Another site's page must not write to an instance in its visitor's network; other clients may.
 * @throws Refusal `foreign_form`
 */
export function refuseForeignPages(exchange: Exchange): void {
  if (exchange.header('sec-fetch-site') === 'cross-site')
    throw new Refusal('foreign_form', 'A page of another site cannot write to this instance.');
}

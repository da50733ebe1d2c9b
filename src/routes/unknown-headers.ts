import { closest } from 'fastest-levenshtein';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';
import { PARAMETERS } from './operation-docs.ts';

/** How the names of our own headers begin. */
const OWN = /^x-(?:feed|note|read)[-_]/i;
const KNOWN = ['X-Feed-Password', ...Object.values(PARAMETERS).map(({ name }) => name)].filter((name) =>
  OWN.test(name),
);
const KNOWN_LOWER = KNOWN.map((name) => name.toLowerCase());
/** Header names that a refusal repeats. */
const SHOWN = /^[\w*-]{1,64}$/;

/**
 * Refuses a header that is named like our own but is none: a misspelt `X-Feed-Password` would make an open feed.
 * @throws Refusal `invalid_request` that names the nearest header, and never holds a value
 */
export function refuseUnknownHeaders({ headerNames }: Exchange): void {
  for (const name of headerNames) {
    if (!OWN.test(name) || KNOWN_LOWER.includes(name)) continue;
    const nearest = KNOWN[KNOWN_LOWER.indexOf(closest(name, KNOWN_LOWER))];
    const shown = SHOWN.test(name) ? name : 'One of the headers';
    throw new Refusal(
      'invalid_request',
      `${shown} is no header of this service; the nearest one is ${nearest}.`,
    );
  }
}

import { invalidFeed } from '../access/access.ts';
import { type FeedName, isFeedName } from '../feeds/names.ts';
import { type PublicAddress, publicAddress } from '../feeds/public-address.ts';
import type { Exchange } from '../http/exchange.ts';
import { Refusal } from '../refusals.ts';
import type { OperatorDocs } from './operation-docs.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** The traits of an operation for the operator. */
export function forOperator(docs: OperatorDocs) {
  return { access: 'operator', docs: { tag: 'Operator', ...docs } } as const;
}

/** The feed name in the path. One that the service has reserved since may still be a feed's. Throws a Refusal `invalid_feed`. */
export function nameIn(exchange: Exchange): FeedName {
  const [name = ''] = exchange.parameters;
  if (isFeedName(name)) return name;
  throw invalidFeed();
}

/** The `limit` of a list. Throws a Refusal `invalid_request`. */
export function limitIn(exchange: Exchange): number {
  const text = exchange.query('limit');
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw invalid(`limit must be a whole number from 1 to ${MAX_LIMIT}`);
}

/** A place in a list as the `next` of its page. */
export function cursorOf(...place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/**
 * The place that the value of `after` names; undefined for the start.
 * @param check makes the place of the members; undefined if they are none
 * @throws Refusal `invalid_request`
 */
export function placeOf<T>(
  cursor: string | undefined,
  check: (members: unknown[]) => T | undefined,
): T | undefined {
  if (cursor === undefined) return undefined;
  try {
    const members: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    // PostgreSQL takes neither other numbers nor a NUL in a text.
    const isStorable = (member: unknown) =>
      typeof member === 'string' ? !member.includes('\0') : Number.isSafeInteger(member);
    const place = Array.isArray(members) && members.every(isStorable) ? check(members) : undefined;
    if (place !== undefined) return place;
  } catch {
    // Refused below.
  }
  throw invalid('after must be the next of an answer before');
}

/**
 * An address below a read link, with or without the host.
 * @param isOwn whether its host must be that of this request even if no setting says which the instance has
 * @throws Refusal `invalid_request`
 */
export function addressIn(exchange: Exchange, text: string, isOwn: boolean): PublicAddress {
  const { base } = exchange;
  const url = URL.parse(text, text.startsWith('/') ? base : undefined);
  const mustMatch = isOwn || exchange.hasPublicUrl;
  const isHere = url !== null && (!mustMatch || url.host === new URL(base).host);
  const address = isHere ? publicAddress(url.pathname, exchange.root) : undefined;
  if (address !== undefined) return address;
  throw new Refusal(
    'invalid_request',
    'The address must be one below a read link of this instance, such as /r/x7k2p4m9 and what follows it.',
    { field: 'target' },
  );
}

/**
 * A change that leaves its audit line also if it fails with 5xx, because all of it or a part may be stored; not if it is refused.
 * @param leave called with the result, without one after a failure
 */
export async function audited<T>(change: Promise<T>, leave: (result?: T) => void): Promise<T> {
  try {
    const result = await change;
    leave(result);
    return result;
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500) leave();
    throw error;
  }
}

export function invalid(sentence: string): Refusal {
  return new Refusal('invalid_request', `${sentence}.`);
}

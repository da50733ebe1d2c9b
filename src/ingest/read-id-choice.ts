import { type FeedName, isChosenReadId, type ReadId, ROUTE_NAMES } from '../feeds/names.ts';
import { Refusal } from '../refusals.ts';

export interface ReadIdRules {
  readonly allowCustomIds: boolean;
  readonly reservedFeeds: ReadonlySet<string>;
}

/**
 * The read id that a person chose for a feed; undefined for a random one, which an empty text asks for.
 * @throws Refusal `invalid_request` (contract §3, "Read id")
 */
export function chosenReadId(text: string, name: FeedName, rules: ReadIdRules): ReadId | undefined {
  if (text === '') return undefined;
  if (!rules.allowCustomIds) throw refusal('This instance does not let read ids be chosen.');
  if (!isChosenReadId(text)) throw refusal('A read id is 3 to 64 characters of a-z, 0-9, "-" and "_".');
  if (ROUTE_NAMES.has(text) || rules.reservedFeeds.has(text)) throw refusal('That read id is reserved.');
  if (text === (name as string))
    throw refusal('The read id must differ from the name of the feed, which is its key.');
  return text;
}

function refusal(sentence: string): Refusal {
  return new Refusal('invalid_request', sentence, { field: 'read_id' });
}

import type { RefusalCode } from '../refusals.ts';
import type { ResponseHeader } from './response-headers.ts';

/** What each code of an error means. */
export const REFUSAL_TEXTS: Readonly<Record<RefusalCode, string>> = {
  invalid_feed: 'what the path holds cannot be the name of a feed',
  reserved_feed: 'the name is reserved',
  invalid_body: 'the body is not what it says it is',
  invalid_request: 'a part of the path, a query value, a header or a member of the body breaks its rule',
  empty_note: 'the note is blank',
  invalid_license: 'the license is malformed, badly signed or over',
  auth: 'the password of the instance or of the feed is missing or wrong; whether the feed exists is not said',
  license_required: 'the free tier does not take this',
  images_off: 'this instance takes no pictures',
  foreign_form: 'a page of another site sent this',
  not_found: 'there is no such feed or note',
  method_not_allowed: 'the path does not take that method',
  timeout: 'the body came too slowly',
  feed_exists: 'the feed exists without a password, and one can only be set when a feed is made',
  taken: 'another feed has that read id, or a deleted one had it; the license serves as many feeds as it may',
  no_image_store: 'pictures have no store of their own',
  same_store: 'the pictures are in that store already',
  too_large: 'the body is larger than it may be',
  unsupported_type: 'the type is none of those a note may have, or the bytes are not of it',
  range: 'the file has none of the bytes asked for',
  rate_limited: 'too many changes by one client',
  too_many_attempts: 'too many wrong passwords by one client; until then the right one is refused as well',
  internal: 'something went wrong in the service',
  store_unavailable: 'the storage cannot be reached',
  busy: 'too much is being done at once',
  feed_limit: 'the instance has as many feeds as it may have',
  note_limit: 'the feed has as many notes as it may have',
  image_limit: 'the feed has as many pictures as it may have',
  storage_full: 'the storage has no room left',
};

/** The response headers that come with a code. */
export const REFUSAL_HEADERS: Readonly<Partial<Record<RefusalCode, readonly ResponseHeader[]>>> = {
  auth: ['WWW-Authenticate'],
  range: ['Content-Range'],
  rate_limited: ['Retry-After'],
  too_many_attempts: ['Retry-After'],
  busy: ['Retry-After'],
};

import type { RefusalCode } from '../refusals.ts';

/** What pages say of each refusal: what happened, and what to do. The messages of the API are for programmers. */
const WORDS: Readonly<Record<RefusalCode, string>> = {
  invalid_feed:
    'The name of a feed has 1 to 64 characters: a to z, 0 to 9, "-" and "_". Check it and try again.',
  reserved_feed: 'This name belongs to the service itself. Choose another one.',
  invalid_body: 'The service cannot read what this page has sent. Reload the page and try again.',
  invalid_request: 'A part of this request is not valid. Check it and try again.',
  empty_note: 'The note is empty. Write something first.',
  invalid_license: 'This license is not valid here, or it has ended. Check that you pasted all of it.',
  auth: 'You may not do this now: you were logged out, or the feed was locked. Log in or unlock it, then try again.',
  license_required: 'The free tier does not include this. Attach a license in the settings of the feed.',
  images_off: 'This instance takes no pictures. Post the text without them.',
  foreign_form:
    'This request came from a page of another site, so it was refused. Open the page here and try again.',
  blocked: 'Whoever runs this instance has closed this feed, or does not allow this picture.',
  not_found: 'There is nothing here. It may have been deleted, or the address is not complete.',
  method_not_allowed: 'This page cannot be opened like that. Go back and try again.',
  removed: 'Whoever runs this instance has removed what was here.',
  timeout: 'Sending took too long. Check your connection and try again.',
  feed_exists: 'This feed exists already, so it can get no password now.',
  taken: 'This read id or license is in use already. Choose another one.',
  no_image_store: 'The pictures of this instance have no store of their own.',
  same_store: 'The pictures are in that store already.',
  unreadable_file:
    'A file of this feed is damaged, so nothing was changed. Ask whoever runs this instance to mend it.',
  changed: 'This was changed meanwhile, so nothing was overwritten. Reload the page to see how it is now.',
  too_large: 'This is larger than the instance accepts. Make it smaller and try again.',
  unsupported_type: 'This is not a kind of file that a note can have. Use text, PNG, JPEG, GIF or WebP.',
  range: 'This part of the file does not exist. Open the whole file.',
  key_reused: 'Something else was posted instead of this. Reload the page and try again.',
  rate_limited: 'You have sent too much in a short time.',
  too_many_attempts: 'There were too many wrong passwords.',
  internal: 'Something went wrong in the service. Try again; if it stays so, tell whoever runs it.',
  store_unavailable: 'The notes cannot be reached right now. Nothing is lost.',
  busy: 'The service has a lot to do right now. Nothing is lost.',
  feed_limit: 'This instance has as many feeds as it may have. Use one that exists, or ask whoever runs it.',
  note_limit: 'This feed is full. Delete some of its notes to make room.',
  image_limit: 'This feed has as many pictures as it may have. Delete some of them to make room.',
  byte_limit: 'There is no room for this. Delete something to make room, or ask whoever runs this instance.',
  storage_full: 'The service has no room left. Tell whoever runs it.',
};

/** Refusals that end by themselves: trying again later helps. */
const PASSES: ReadonlySet<string | undefined> = new Set<RefusalCode>([
  'rate_limited',
  'too_many_attempts',
  'store_unavailable',
  'busy',
]);

/** For a code that this version does not know, or none. */
const UNKNOWN = 'That did not work. Please try again.';

/**
 * What to tell people of a refusal, on pages of the server and in scripts.
 * @param code of the refusal; may be anything
 * @param retryAfter seconds until it makes sense to try again, if that is known
 */
export function wordsFor(code: string | undefined, retryAfter?: number): string {
  const words = code !== undefined && Object.hasOwn(WORDS, code) ? WORDS[code as RefusalCode] : UNKNOWN;
  if (retryAfter === undefined && !PASSES.has(code)) return words;
  return `${words} Try again in ${retryAfter === undefined ? 'a moment' : duration(retryAfter)}.`;
}

/** Refusals whose own message says what is wrong with what somebody typed or chose. */
const ABOUT_INPUT: ReadonlySet<string | undefined> = new Set<RefusalCode>([
  'invalid_feed',
  'reserved_feed',
  'invalid_body',
  'invalid_request',
  'invalid_license',
  'auth',
  'feed_exists',
  'taken',
  'too_large',
  'unsupported_type',
  'blocked',
]);
/** Words of the API: a message with one of them is not shown to people. */
const TECHNICAL =
  /\bX-|Content-|Bearer|If-|ETag|JSON|UTF|RFC|multipart|ISO |image\/|=|_|\b(headers?|members?|body|parts?|paths?|types?|encod\w+|bytes of|action|0 or 1)\b/;

/** A refusal, as the server made it or as an answer says it. */
interface Explained {
  readonly code: string | undefined;
  /** The message of the API. */
  readonly message: string;
  /** The field to blame; then the message is about that field. */
  readonly field?: string | undefined;
  readonly retryAfter?: number | undefined;
}

/** What a page says of a refusal: the message of the API if that says what is wrong with the input, else our words. */
export function explain({ code, message, field, retryAfter }: Explained): string {
  const sentence = message
    .replace(/^X-Note-(\w+):? /, (_, name: string) => `The ${name.toLowerCase()} `)
    .replace(/^q: /, '')
    .replace(/^q /, 'The search ')
    .replace(/\b(\d+) bytes\b/g, (_, bytes: string) => sizeText(Number(bytes)));
  const said = sentence.replace(/"[^"]*"/g, '');
  const isForPeople = (field !== undefined || ABOUT_INPUT.has(code)) && !TECHNICAL.test(said);
  return isForPeople ? sentence.charAt(0).toUpperCase() + sentence.slice(1) : wordsFor(code, retryAfter);
}

/** A size: `100 KB`, `10 MB`. */
function sizeText(bytes: number): string {
  const [size, unit] = bytes < 1024 ** 2 ? [bytes / 1024, 'KB'] : [bytes / 1024 ** 2, 'MB'];
  return `${Number(size.toFixed(1))} ${unit}`;
}

/** A time to wait: `20 seconds`, `2 minutes`. */
function duration(seconds: number): string {
  if (seconds < 90) return amount(Math.max(1, Math.ceil(seconds)), 'second');
  return amount(Math.ceil(seconds / 60), 'minute');
}

function amount(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

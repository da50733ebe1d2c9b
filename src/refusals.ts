/**
 * All refusals by their stable code: HTTP status, the response header that comes along, the seconds to wait before another
 * attempt if nothing else is known, and the meaning for the API description.
 */
export const REFUSALS = {
  invalid_feed: { status: 400, meaning: 'what the path has in place of a feed name cannot be one' },
  reserved_feed: { status: 400, meaning: 'the name is reserved' },
  invalid_body: {
    status: 400,
    meaning: 'the body is not of the form that its type and the operation ask for',
  },
  invalid_request: {
    status: 400,
    meaning: 'a part of the path, a query value, a header or a member of the body breaks its rule',
  },
  empty_note: { status: 400, meaning: 'the note is blank' },
  invalid_license: { status: 400, meaning: 'the license is malformed, wrongly signed or expired' },
  auth: {
    status: 401,
    header: 'WWW-Authenticate',
    meaning:
      'the password of the instance or of the feed is missing or wrong; whether the feed exists is not said',
  },
  license_required: { status: 402, meaning: 'the free tier does not take this' },
  images_off: { status: 403, meaning: 'this instance takes no pictures' },
  foreign_form: { status: 403, meaning: 'a page of another site sent this' },
  blocked: {
    status: 403,
    meaning: 'the operator has closed the feed, or its name',
  },
  not_found: { status: 404, meaning: 'there is no such feed or note' },
  method_not_allowed: { status: 405, meaning: 'there is no such method at this address' },
  timeout: { status: 408, meaning: 'the body came too slowly' },
  removed: { status: 410, meaning: 'the operator has removed what this link led to' },
  feed_exists: {
    status: 409,
    meaning: 'the feed exists without a password, and one can only be set when a feed is made',
  },
  taken: {
    status: 409,
    meaning:
      'another feed has that read id, or a deleted one had it; or the license already serves as many feeds as it may',
  },
  no_image_store: { status: 409, meaning: 'this instance has no image store' },
  same_store: { status: 409, meaning: 'the pictures are in that store already' },
  unreadable_file: {
    status: 409,
    meaning:
      'the file with the metadata of the note, or with the settings of the feed, cannot be read; it is not overwritten until somebody mends it',
  },
  changed: {
    status: 412,
    meaning: 'the note or feed is not, or no longer, as `If-Match` or `If-None-Match` asks',
  },
  too_large: { status: 413, meaning: 'the body is larger than it may be' },
  unsupported_type: {
    status: 415,
    meaning: 'the type is none of those a note may have, or the bytes are not of it',
  },
  range: { status: 416, header: 'Content-Range', meaning: 'the file has none of the bytes asked for' },
  key_reused: { status: 422, meaning: 'the key belongs to a note with other contents' },
  rate_limited: { status: 429, header: 'Retry-After', meaning: 'too many writes by one client' },
  too_many_attempts: {
    status: 429,
    header: 'Retry-After',
    meaning: 'too many wrong passwords by one client; until then the right one is refused as well',
  },
  internal: { status: 500, meaning: 'something went wrong in the service' },
  store_unavailable: {
    status: 503,
    header: 'Retry-After',
    retryAfter: 5,
    meaning: 'the storage cannot be reached',
  },
  busy: { status: 503, header: 'Retry-After', retryAfter: 1, meaning: 'too much is going on; try again' },
  feed_limit: { status: 507, meaning: 'the instance has as many feeds as it may have' },
  note_limit: { status: 507, meaning: 'the feed has as many notes as it may have' },
  image_limit: { status: 507, meaning: 'the feed has as many pictures as it may have' },
  byte_limit: { status: 507, meaning: 'the feed, or the instance, has as many bytes as it may have' },
  storage_full: { status: 507, meaning: 'the storage has no room left' },
} as const;

export type RefusalCode = keyof typeof REFUSALS;

interface RefusalOptions {
  /** Extra response headers. */
  headers?: Readonly<Record<string, string>>;
  /** Seconds until another attempt may succeed; sent as `Retry-After`. */
  retryAfter?: number;
  /** The error underneath; for the log, never for the client. */
  cause?: unknown;
  /** The index of the note to blame, among those that were to be stored. */
  position?: number | undefined;
  /** The form field to blame. */
  field?: string | undefined;
  /** Replaces the status of the code. */
  status?: number | undefined;
}

/** A request that is answered with an error: `{"error": message, "code": code}`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Seconds, as in the header. */
  readonly retryAfter: number | undefined;
  readonly position: number | undefined;
  readonly field: string | undefined;

  /** `message` is one sentence for people. It never holds a feed name, a password or a path. */
  constructor(code: RefusalCode, message: string, options: RefusalOptions = {}) {
    super(message, { cause: options.cause });
    const known: { readonly status: number; readonly retryAfter?: number } = REFUSALS[code];
    this.code = code;
    this.status = options.status ?? known.status;
    this.retryAfter = options.retryAfter ?? known.retryAfter;
    this.headers =
      this.retryAfter === undefined
        ? (options.headers ?? {})
        : { ...options.headers, 'Retry-After': String(this.retryAfter) };
    this.position = options.position;
    this.field = options.field;
  }
}

const MISSING = {
  address: 'There is nothing at this address.',
  feed: 'There is no such feed.',
  note: 'There is no such note.',
  block: 'Nothing of that is blocked.',
  report: 'There is no such report.',
};

export function notFound(what: keyof typeof MISSING): Refusal {
  return new Refusal('not_found', MISSING[what]);
}

/** @throws Refusal `not_found` for undefined */
export function existing<T>(value: T | undefined, what: keyof typeof MISSING): T {
  if (value === undefined) throw notFound(what);
  return value;
}

/** The result of the work, or of `recover` if it was refused. */
export async function onRefusal<T, R>(
  work: () => T | Promise<T>,
  recover: (refusal: Refusal) => R | Promise<R>,
): Promise<T | R> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof Refusal) return recover(cause);
    throw cause;
  }
}

/**
 * The one catalogue of refusals: what a client may be told, with its stable code and HTTP status.
 * A refusal is thrown as a value; nothing parses messages.
 */
export const REFUSAL_STATUS = {
  invalid_feed: 400,
  reserved_feed: 400,
  invalid_body: 400,
  invalid_request: 400,
  empty_note: 400,
  invalid_license: 400,
  auth: 401,
  license_required: 402,
  images_off: 403,
  foreign_form: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  feed_exists: 409,
  taken: 409,
  no_image_store: 409,
  same_store: 409,
  too_large: 413,
  unsupported_type: 415,
  range: 416,
  rate_limited: 429,
  too_many_attempts: 429,
  internal: 500,
  store_unavailable: 503,
  busy: 503,
  feed_limit: 507,
  note_limit: 507,
  image_limit: 507,
  storage_full: 507,
} as const;

export type RefusalCode = keyof typeof REFUSAL_STATUS;

export interface RefusalOptions {
  /** Extra response headers, for example `Retry-After`. */
  headers?: Readonly<Record<string, string>>;
  /** What went wrong underneath; for the log, never for the client. */
  cause?: unknown;
  /** Which of several notes is to blame: its index among those that were to be stored. */
  position?: number | undefined;
  /** Which field of a form is to blame. */
  field?: string | undefined;
  /** In place of the code's own. */
  status?: number | undefined;
}

/** A request that is answered with an error: `{"error": message, "code": code}`. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly position: number | undefined;
  readonly field: string | undefined;

  /** `message` is one sentence for people. It never holds a feed name, a password or a path. */
  constructor(code: RefusalCode, message: string, options: RefusalOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'Refusal';
    this.code = code;
    this.status = options.status ?? REFUSAL_STATUS[code];
    this.headers = options.headers ?? {};
    this.position = options.position;
    this.field = options.field;
  }
}

import type { RefusalCode } from '../refusals.ts';
import type { SchemaName } from '../schemas.ts';
import type { ParameterKey } from './parameters.ts';

/** The groups of operations, each with a sentence about it. */
export const TAGS = {
  Notes: 'Notes by the name of their feed. Whoever knows it may post, change and delete.',
  Feeds: 'Settings of a feed, by its name.',
  Reading: 'What everybody with the read link may read, without a password.',
  Service: 'The service itself.',
  Operator:
    'For whoever runs the instance, with SERVICE_OPERATOR_TOKEN as Bearer token. Not here without that setting.',
} as const;

export const RESPONSE_HEADERS = {
  'Accept-Ranges': 'Parts of the file may be asked for: `bytes`.',
  'Access-Control-Allow-Origin': '`*`: scripts of every web page may read this.',
  'Cache-Control': 'Who may keep the answer, and for how long.',
  'Content-Range': 'Which bytes these are, of how many.',
  'Content-Security-Policy': 'Nothing in the body may run, load or be framed.',
  ETag: 'Names the content, for `If-None-Match`. Each content coding has its own.',
  'Last-Modified':
    'The end of the second after the last change (a post, an edit, a deletion or new settings). Absent until then.',
  Location: 'The address of what was made, or where to go on.',
  'Retry-After': 'How many seconds to wait before trying again.',
  Vary: 'The answer depends on these request headers.',
  'WWW-Authenticate': 'How to send the password of the instance: `Bearer`.',
  'X-Accel-Buffering': '`no`: a proxy in front hands on what it gets at once.',
  'X-Content-Type-Options': '`nosniff`: the body is what Content-Type says.',
  'X-Request-Id': 'Names the request in the log of the service.',
} as const;

type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** The description of an operation beyond its method, path and path parameters. */
export interface OperationDocs {
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  /** Query parameters and request headers. */
  readonly parameters?: readonly ParameterKey[];
  readonly body?: 'note' | SchemaName;
  /** By status; errors are in `refusals`. */
  readonly answers: Readonly<Record<number, AnswerDocs>>;
  /** The codes of errors, beyond those of every operation. */
  readonly refusals: readonly RefusalCode[];
}

/** A body: JSON of a schema, text, or bytes. */
export type ContentDocs = SchemaName | 'text' | 'bytes' | Readonly<Record<string, unknown>>;

export interface AnswerDocs {
  readonly description: string;
  readonly headers?: readonly ResponseHeader[];
  /** By media type. */
  readonly content?: Readonly<Record<string, ContentDocs>>;
}

/** Errors of operations by a feed name that need not exist. */
export const NEW_FEED_ERRORS: readonly RefusalCode[] = [
  'invalid_feed',
  'reserved_feed',
  'auth',
  'too_many_attempts',
  'busy',
  'store_unavailable',
];
export const FEED_ERRORS: readonly RefusalCode[] = [...NEW_FEED_ERRORS, 'not_found'];
/** Further errors of changes. */
export const CHANGE_ERRORS: readonly RefusalCode[] = ['foreign_form', 'rate_limited', 'storage_full'];
export const WRITE_ERRORS: readonly RefusalCode[] = [...FEED_ERRORS, ...CHANGE_ERRORS];
/** Errors of requests with a JSON body, beyond others. */
export const JSON_ERRORS: readonly RefusalCode[] = ['invalid_body', 'too_large', 'timeout', 'busy'];
/** Errors of requests that bring a note, beyond others. */
export const NOTE_ERRORS: readonly RefusalCode[] = [
  'invalid_body',
  'empty_note',
  'license_required',
  'images_off',
  'too_large',
  'unsupported_type',
  'timeout',
  'busy',
];
/** Errors of public reads. */
export const READ_ERRORS: readonly RefusalCode[] = ['not_found', 'busy', 'store_unavailable'];

export const CONDITIONAL: readonly ParameterKey[] = ['ifNoneMatch', 'ifModifiedSince'];
const VALIDATORS: readonly ResponseHeader[] = ['Cache-Control', 'ETag', 'Last-Modified', 'Vary'];

/** A JSON answer for one client. */
export function jsonAnswer(schema: SchemaName, description: string): AnswerDocs {
  return { description, headers: ['Cache-Control'], content: { 'application/json': schema } };
}

/** The answers of a conditional request: the thing, and that it has not changed. */
export function conditionalAnswers(
  content: Readonly<Record<string, ContentDocs>>,
  description: string,
  headers: readonly ResponseHeader[] = [],
): Record<number, AnswerDocs> {
  return {
    200: { description, headers: [...VALIDATORS, ...headers], content },
    304: { description: 'The client has it already.', headers: VALIDATORS },
  };
}

/** The answer of a deletion, and of a change with nothing to show. */
export const NO_CONTENT_ANSWER: Readonly<Record<number, AnswerDocs>> = {
  204: { description: 'Done.', headers: ['Cache-Control'] },
};

import { FEED_ORDERS } from '../feeds/order.ts';
import { TAGS_RULE } from '../feeds/tags.ts';
import { HOOK_KINDS } from '../hooks/kinds.ts';
import type { RefusalCode } from '../refusals.ts';
import type { SchemaName } from '../schemas.ts';
import { QUERY_LENGTH, QUERY_RULE } from '../search/query.ts';

/** The groups of operations, each with a sentence about it. */
export const TAGS = {
  Notes: 'Notes by the name of their feed. Whoever knows it may post, change and delete.',
  Feeds: 'Settings of a feed, by its name.',
  Reading: 'What everybody with the read link may read, without a password.',
  Service: 'The service itself.',
  Operator:
    'For whoever runs the instance, with SERVICE_OPERATOR_TOKEN as Bearer token. Without that setting these paths are 404.',
} as const;

export const RESPONSE_HEADERS = {
  'Accept-Ranges': 'Parts of the file may be asked for: `bytes`.',
  'Access-Control-Allow-Origin': '`*`: scripts of every web page may read this.',
  'Cache-Control':
    'Who may keep the answer, and for how long; `stale-…` how long it may stand in for one that is late or fails.',
  'Cache-Tag': '`feed-` and the read id: by this tag a cache in front can drop all answers of a feed.',
  'Content-Disposition': 'The file name for saving the body.',
  'Content-Range': 'Which bytes of the file the body has, and the size of the file.',
  'Content-Security-Policy': 'Nothing in the body may run, load or be framed.',
  ETag: 'Names the content, for `If-None-Match` and `If-Match`. Each content coding has its own.',
  'Idempotent-Replayed':
    '`true` if the same post was stored before under its key, and this one stored nothing.',
  'Last-Modified':
    'Up to two seconds after the last change (a post, an edit, a deletion or new settings). Absent until that time.',
  Link: 'The WebSub hubs that distribute the feed (`rel="hub"`), and its address for them (`rel="self"`), if the instance has hubs.',
  Location: 'The address of what was made, or of the page that follows.',
  'Retry-After': 'How many seconds to wait before trying again.',
  Vary: 'The answer depends on these request headers.',
  'WWW-Authenticate': 'How to send the password of the instance: `Bearer`.',
  'X-Accel-Buffering': '`no`: a proxy in front must pass on at once what it gets.',
  'X-Content-Type-Options': '`nosniff`: the body is what Content-Type says.',
  'X-Note-Expires': 'When the note expires, or the first one of a page: nobody keeps the answer beyond it.',
  'X-Request-Id': 'Names the request in the log of the service, or in that of a proxy which sent it.',
  'X-Robots-Tag': '`noindex` on what was asked for with `q`, `tag`, `from` or `to`.',
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
  /** A `newNote` may be JSON as well. */
  readonly body?: 'note' | 'newNote' | 'zip' | 'payload' | SchemaName;
  /** By status; errors are in `refusals`. */
  readonly answers: Readonly<Record<number, AnswerDocs>>;
  /** The codes of errors beyond those of its access and its body. */
  readonly refusals?: readonly RefusalCode[];
}

/** Of an operation for the operator (`forOperator`). */
export type OperatorDocs = Omit<OperationDocs, 'tag'>;

/** A body: JSON of a schema, text, or bytes. */
export type ContentDocs = SchemaName | 'text' | 'bytes' | Readonly<Record<string, unknown>>;

export interface AnswerDocs {
  readonly description: string;
  readonly headers?: readonly ResponseHeader[];
  /** By media type. */
  readonly content?: Readonly<Record<string, ContentDocs>>;
}

/** Parameters that select notes. */
export const SELECTION: readonly ParameterKey[] = ['q', 'tag', 'from', 'to'];
export const CONDITIONAL: readonly ParameterKey[] = ['ifNoneMatch', 'ifModifiedSince'];
const VALIDATORS: readonly ResponseHeader[] = ['Cache-Control', 'ETag', 'Last-Modified', 'Vary'];

/** A JSON answer for one client. */
export function jsonAnswer(
  schema: SchemaName,
  description: string,
  headers: readonly ResponseHeader[] = [],
): AnswerDocs {
  return { description, headers: ['Cache-Control', ...headers], content: { 'application/json': schema } };
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

/** A parameter as OpenAPI describes it. */
interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly schema: object;
  readonly required?: boolean;
}

const parameterIn =
  (place: Parameter['in']) =>
  (name: string, description: string, schema: object = {}): Parameter => ({
    ...{ name, in: place, description },
    schema: { type: 'string', ...schema },
  });

const header = parameterIn('header');
const query = parameterIn('query');
const path = parameterIn('path');

function textHeader(name: string, what: string): Parameter {
  return header(
    name,
    `${what}; an empty one is none. Text beyond ASCII is UTF-8; clients that cannot send its bytes use RFC 2047 ` +
      `encoded words (\`=?UTF-8?B?Y2Fmw6k=?=\`) or \`${name}*\` (RFC 8187).`,
  );
}

function extendedHeader(name: string): Parameter {
  const description = `\`${name}\` in the extended form of RFC 8187; it wins over \`${name}\`.`;
  return header(`${name}*`, description, { examples: ["UTF-8''caf%C3%A9"] });
}

const TIME_EXAMPLES = ['2026-01-31', '2026-01-31T12:00:00Z'];
const KEY_SCHEMA = { minLength: 1, maxLength: 200, pattern: '^[!-~](?:[ -~]*[!-~])?$' };

/** Every parameter of the API. Those of paths are keyed by their name there. */
export const PARAMETERS = {
  feed: path('feed', 'The name of the feed, which is the key to write to it.', {
    pattern: '^[a-z0-9_-]{1,64}$',
  }),
  id: path('id', 'The id of the note.', { minLength: 1 }),
  readId: path('readId', 'The read id of the feed. One that nobody has reads as a feed without notes.', {
    pattern: '^[A-Za-z0-9_-]{3,64}$',
  }),
  kind: path('kind', 'The kind of sender.', { enum: [...HOOK_KINDS.keys()] }),
  secret: query(
    'secret',
    'For `github` and `gitlab`: the secret that the sender must prove to know, by `X-Hub-Signature-256` or `X-Gitlab-Token`. ' +
      'Without it no proof is asked for.',
  ),
  wait: query('wait', 'For `discord`: `true` to get the id of the note.', { enum: ['true', 'false'] }),
  file: path('file', 'The file of a note, `<id>.<ext>`.', { minLength: 1 }),
  limit: query(
    'limit',
    'The most notes in the answer. A page may hold fewer and still have a `next`: if its texts would exceed 1 MiB, and in a search.',
    { type: 'integer', minimum: 1, maximum: 100, default: 50 },
  ),
  before: query(
    'before',
    'Only notes older than this: the `next` of the page before, or the id of a note. Empty is the newest page.',
  ),
  tag: query('tag', 'Only notes with this tag; empty is all.', {
    pattern: '^[\\p{L}\\p{M}\\p{Nd}_.:-]{0,32}$',
  }),
  q: query(
    'q',
    `Only notes in which a search finds ${QUERY_RULE}. Case and accents make no difference. Title, text, alternative text, ` +
      'name and tags are searched. Empty is all.',
    { maxLength: QUERY_LENGTH, examples: ['"release notes" deploy* -draft'] },
  ),
  from: query('from', 'Only notes of this time or later: an ISO time, or a date in UTC. Empty is all.', {
    examples: TIME_EXAMPLES,
  }),
  to: query('to', 'Only notes of this time or earlier; a date is its whole day. Empty is all.', {
    examples: TIME_EXAMPLES,
  }),
  tagStart: query('q', 'Only tags that begin so; empty is all.'),
  title: textHeader('X-Note-Title', 'The title of the note, one line of at most 100 characters'),
  extendedTitle: extendedHeader('X-Note-Title'),
  alt: textHeader('X-Note-Alt', 'Alternative text of the picture, one line of at most 500 characters'),
  extendedAlt: extendedHeader('X-Note-Alt'),
  name: textHeader(
    'X-Note-Name',
    'The original file name of the picture; slashes, backslashes and control characters are dropped, and so is what is ' +
      'beyond 200 characters',
  ),
  extendedName: extendedHeader('X-Note-Name'),
  tags: textHeader(
    'X-Note-Tags',
    `The tags of the note, separated by commas: ${TAGS_RULE}, in any script. Capitals ` +
      'are lowered, repeats and blank entries dropped',
  ),
  extendedTags: extendedHeader('X-Note-Tags'),
  expires: header(
    'X-Note-Expires',
    'When the note goes away: an ISO time, or a duration from now such as `30m`, `12h` or `7d`, at most 10 years. From ' +
      'that moment on it is in no answer. Empty is never.',
    { examples: ['2030-01-31T12:00:00Z', '7d'] },
  ),
  unlisted: header(
    'X-Note-Unlisted',
    'Only on a picture posted on its own: pages, RSS and JSON Feed do not show the note; lists have it, and its own page and file work.',
    { enum: ['1'] },
  ),
  idempotencyKey: header(
    'Idempotency-Key',
    'Names the note within its feed as long as the note exists, so that a post can be retried: the same post (type, bytes, title, ' +
      'tags, alternative text and name) stores nothing more and gets the first answer again. In a form it names the text, or ' +
      'the first picture if there is no text. A `key` in JSON wins over it.',
    KEY_SCHEMA,
  ),
  key: { ...query('key', 'The key of the note.', KEY_SCHEMA), required: true },
  ifMatch: header(
    'If-Match',
    'ETags from a read or a write of this note or feed. If it has none of them now, the answer is 412 and nothing is changed. `*` ' +
      'fits any. A weak ETag never fits.',
  ),
  ifFeedMatches: header(
    'If-Match',
    '`*`: post only if the feed exists. (Pages of the service send a value of their own, which tells which feed they mean.)',
  ),
  ifNoFeed: header('If-None-Match', '`*`: post only if the feed does not exist. No other value is taken.'),
  chosenReadId: header(
    'X-Read-Id',
    'The read id of the feed that this post makes, 3 to 64 characters of a-z, 0-9, "-" and "_", if the instance lets ' +
      'it be chosen; empty for a random one. Ignored if the feed exists.',
  ),
  ifNoneMatch: header(
    'If-None-Match',
    'ETags of what the client has: 304 if one of them is still right (RFC 9110).',
  ),
  ifModifiedSince: header(
    'If-Modified-Since',
    'The Last-Modified of what the client has. `If-None-Match` wins over it.',
  ),
  lastEventId: header(
    'Last-Event-ID',
    'The `id` of the last event that the client got. If the feed has changed since, an event comes at once. With `notes=1` it is ' +
      'the id of the last note: those that came since are sent first.',
  ),
  toldNotes: query('notes', 'The stream has the notes themselves.', { enum: ['1'] }),
  since: query(
    'since',
    'The same as `Last-Event-ID`, for a first request, in which browsers cannot send that header.',
  ),
  sort: query('sort', 'The order: the largest or latest first, or by name.', {
    enum: FEED_ORDERS,
    default: FEED_ORDERS[0],
  }),
  nameStart: query('q', 'Only names that begin so; empty is all.'),
  operatorLimit: query('limit', 'The most entries in the answer.', {
    type: 'integer',
    minimum: 1,
    maximum: 1000,
    default: 100,
  }),
  after: query('after', 'The `next` of the page before. Empty is the first page.'),
  sha256: path('sha256', 'The SHA-256 of the bytes of a picture, in base64url.', {
    pattern: '^[A-Za-z0-9_-]{43}$',
  }),
  report: path('report', 'The id of the report.', { minLength: 1 }),
  range: header('Range', 'The part to send, one range of bytes.', { examples: ['bytes=0-1023'] }),
  ifRange: header('If-Range', 'An ETag: if the file has another one now, the whole file is sent.'),
} as const satisfies Readonly<Record<string, Parameter>>;

type ParameterKey = keyof typeof PARAMETERS;

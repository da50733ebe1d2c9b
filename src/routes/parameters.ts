/** A parameter as OpenAPI describes it. */
interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

function textHeader(name: string, what: string): Parameter {
  return {
    name,
    in: 'header',
    description:
      `${what}; an empty one is none. Text beyond ASCII is UTF-8; clients that cannot send its bytes use RFC 2047 ` +
      `encoded words (\`=?UTF-8?B?Y2Fmw6k=?=\`) or \`${name}*\` (RFC 8187).`,
    schema: { type: 'string' },
  };
}

function extendedHeader(name: string): Parameter {
  return {
    name: `${name}*`,
    in: 'header',
    description: `\`${name}\` in the extended form of RFC 8187; it wins over \`${name}\`.`,
    schema: { type: 'string', examples: ["UTF-8''caf%C3%A9"] },
  };
}

/** Every parameter of the API. Those of paths are keyed by the name that they have there. */
export const PARAMETERS = {
  feed: {
    name: 'feed',
    in: 'path',
    description: 'The name of the feed, which is the key to write to it.',
    schema: { type: 'string', pattern: '^[a-z0-9_-]{1,64}$' },
  },
  id: {
    name: 'id',
    in: 'path',
    description: 'The id of the note.',
    schema: { type: 'string', minLength: 1 },
  },
  readId: {
    name: 'readId',
    in: 'path',
    description: 'The read id of the feed. One that nobody has reads as a feed without notes.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{3,64}$' },
  },
  file: {
    name: 'file',
    in: 'path',
    description: 'The file of a note, `<id>.<ext>`.',
    schema: { type: 'string', minLength: 1 },
  },
  limit: {
    name: 'limit',
    in: 'query',
    description:
      'The most notes to answer with. A page ends earlier, with a `next`, where its texts would exceed 1 MiB.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
  },
  before: {
    name: 'before',
    in: 'query',
    description: 'The `next` of the page before, or the id of a note: notes older than that. Empty is none.',
    schema: { type: 'string' },
  },
  tag: {
    name: 'tag',
    in: 'query',
    description: 'Only notes with this tag; empty is all.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_.:-]{0,32}$' },
  },
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
  tags: {
    name: 'X-Note-Tags',
    in: 'header',
    description:
      'The tags of the note, separated by commas: at most 10, each 1 to 32 characters of a-z, 0-9, "-", "_", "." and ' +
      '":". Capitals are lowered, repeats and blank entries dropped.',
    schema: { type: 'string' },
  },
  chosenReadId: {
    name: 'X-Read-Id',
    in: 'header',
    description:
      'The read id of a feed that the post makes, 3 to 64 characters of a-z, 0-9, "-" and "_", where the instance lets ' +
      'it be chosen; empty for a random one. Ignored where the feed exists.',
    schema: { type: 'string' },
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'ETags of what the client has: 304 where one of them is still right (RFC 9110).',
    schema: { type: 'string' },
  },
  ifModifiedSince: {
    name: 'If-Modified-Since',
    in: 'header',
    description: 'The Last-Modified of what the client has. `If-None-Match` wins over it.',
    schema: { type: 'string' },
  },
  lastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The version that the client has: where it is another one now, it is told at once.',
    schema: { type: 'string' },
  },
  since: {
    name: 'since',
    in: 'query',
    description: '`Last-Event-ID` for a first request, in which browsers cannot send it.',
    schema: { type: 'string' },
  },
  range: {
    name: 'Range',
    in: 'header',
    description: 'The part to send, one range of bytes.',
    schema: { type: 'string', examples: ['bytes=0-1023'] },
  },
  ifRange: {
    name: 'If-Range',
    in: 'header',
    description: 'The ETag that the part must be of; else the whole file is sent.',
    schema: { type: 'string' },
  },
} as const satisfies Readonly<Record<string, Parameter>>;

/** The key of a parameter. */
export type ParameterKey = keyof typeof PARAMETERS;

import { mediaType, PICTURE_TYPES } from '../feeds/note-types.ts';
import type { Exchange } from '../http/exchange.ts';
import type { NoteStreamRequest } from '../live/feed-events.ts';
import { readIdOf } from '../read/reader.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { CONDITIONAL, conditionalAnswers, type OperationDocs, SELECTION } from './operation-docs.ts';

type View = 'publicFeed' | 'publicList' | 'publicTags' | 'publicNote' | 'readPage' | 'readNotePage' | 'file';

/** The public reads, by read id. Scripts of any web page may make them. */
export function readOperations(parts: OperationParts): DescribedOperation[] {
  const { reader } = parts;
  const api = (docs: OperationDocs) => ({ access: 'public', cors: true, docs }) as const;
  const page = { access: 'public', isPage: true } as const;
  const isFile = ([, file = '']: readonly string[]) => file.includes('.');
  const isNote = (parameters: readonly string[]) => !isFile(parameters);
  const show = (view: View) => (exchange: Exchange) => reader[view](exchange);
  return [
    operation('getReadFeed', 'GET /api/v1/read/{readId}', api(FEED), show('publicFeed')),
    operation('listReadNotes', 'GET /api/v1/read/{readId}/notes', api(LIST), show('publicList')),
    operation('listReadTags', 'GET /api/v1/read/{readId}/tags', api(TAGS), show('publicTags')),
    operation('getReadNote', 'GET /api/v1/read/{readId}/notes/{id}', api(NOTE), show('publicNote')),
    operation('rss', 'GET /r/{readId}/feed.xml', api(RSS), (exchange) => reader.syndication(exchange, 'rss')),
    operation('jsonFeed', 'GET /r/{readId}/feed.json', api(JSON_FEED), (exchange) =>
      reader.syndication(exchange, 'json-feed'),
    ),
    operation('readPage', 'GET /r/{readId}', page, show('readPage')),
    operation('readNotePage', 'GET /r/{readId}/{id}', { ...page, accepts: isNote }, show('readNotePage')),
    operation('file', 'GET /r/{readId}/{file}', { ...api(FILE), accepts: isFile }, show('file')),
    ...eventOperations(parts),
  ];
}

const READING = {
  tag: 'Reading',
  parameters: CONDITIONAL,
} as const satisfies Partial<OperationDocs>;

const FEED: OperationDocs = {
  ...READING,
  summary: 'Read a feed by its read id',
  answers: publicAnswers({ 'application/json': 'ReadFeed' }, 'The feed.'),
};

const LIST: OperationDocs = {
  ...READING,
  summary: 'List or search notes by the read id, newest first',
  parameters: ['limit', 'before', ...SELECTION, ...CONDITIONAL],
  answers: publicAnswers({ 'application/json': 'NoteList' }, 'A page of notes.', ['X-Robots-Tag']),
};

const TAGS: OperationDocs = {
  ...READING,
  summary: 'List the tags of a feed by the read id',
  parameters: ['tagStart', ...CONDITIONAL],
  answers: publicAnswers({ 'application/json': 'TagList' }, 'The tags.', ['X-Robots-Tag']),
};

const NOTE: OperationDocs = {
  ...READING,
  summary: 'Read a note by the read id',
  answers: publicAnswers({ 'application/json': 'Note' }, 'The note.'),
};

const SYNDICATION = {
  ...READING,
  description: 'The newest 50 notes, or fewer if their texts would exceed 1 MiB together, but at least one.',
  parameters: [...SELECTION, ...CONDITIONAL],
} as const satisfies Partial<OperationDocs>;

const RSS: OperationDocs = {
  ...SYNDICATION,
  summary: 'The newest notes as RSS 2.0',
  answers: publicAnswers({ 'application/rss+xml; charset=utf-8': 'text' }, 'The RSS feed.', [
    'Link',
    'X-Robots-Tag',
  ]),
};

const JSON_FEED: OperationDocs = {
  ...SYNDICATION,
  summary: 'The newest notes as JSON Feed 1.1',
  answers: publicAnswers({ 'application/feed+json': 'JsonFeed' }, 'The JSON Feed.', ['Link', 'X-Robots-Tag']),
};

/** The answers of a conditional request by a read id. */
function publicAnswers(...[content, description, headers = []]: Parameters<typeof conditionalAnswers>) {
  return conditionalAnswers(content, description, ['Cache-Tag', ...headers]);
}

/** The bytes of every kind of note. */
const FILE_CONTENT: Readonly<Record<string, 'text' | 'bytes'>> = {
  [`${mediaType('md')}; charset=utf-8`]: 'text',
  ...Object.fromEntries(PICTURE_TYPES.map((type) => [mediaType(type), 'bytes'])),
};

const FILE: OperationDocs = {
  ...READING,
  summary: 'The file of a note, byte for byte',
  parameters: [...CONDITIONAL, 'range', 'ifRange'],
  answers: {
    ...publicAnswers(FILE_CONTENT, 'The file.', [
      'Accept-Ranges',
      'Content-Security-Policy',
      'X-Note-Expires',
    ]),
    206: {
      description: 'The part asked for.',
      headers: [
        'Accept-Ranges',
        'Cache-Control',
        'Cache-Tag',
        'Content-Range',
        'Content-Security-Policy',
        'ETag',
        'Last-Modified',
        'X-Note-Expires',
      ],
      content: FILE_CONTENT,
    },
  },
  refusals: ['range'],
};

/** Streams of changes, by the read id and by the name. */
function eventOperations({ events, reader }: OperationParts): DescribedOperation[] {
  const open = { access: 'public', cors: true, docs: EVENTS_BY_READ_ID } as const;
  const named = { access: 'reader', docs: EVENTS_BY_NAME } as const;
  return [
    operation('readEvents', 'GET /r/{readId}/events', open, async (exchange) => {
      const [readId, { client }, asked] = [readIdOf(exchange), exchange, askedEvents(exchange)];
      await reader.refuseRemoved(readId);
      if (asked) return events.notesByReadId(readId, client, asked);
      return events.byReadId(readId, client, sinceOf(exchange));
    }),
    operation('feedEvents', 'GET /api/v1/feeds/{feed}/events', named, (exchange, { name, feed, caller }) => {
      const asked = askedEvents(exchange);
      if (asked) return events.notesByName(name, feed, caller, asked);
      return events.byName(name, feed, caller, sinceOf(exchange));
    }),
  ];
}

/** How notes are to be told; undefined if only changes are. A line of JSON without a note would tell nothing. */
function askedEvents(exchange: Exchange): NoteStreamRequest | undefined {
  const wantsLines = /\bapplication\/x-ndjson\b/i.test(exchange.header('accept', true) ?? '');
  if (!wantsLines && exchange.query('notes') !== '1') return undefined;
  return { format: wantsLines ? 'lines' : 'events', base: exchange.base, since: sinceOf(exchange) };
}

/** Browsers send the id of the last event when they reconnect; a first request names the version or the note that the client has. */
function sinceOf(exchange: Exchange): string | undefined {
  return exchange.header('last-event-id') || exchange.query('since') || undefined;
}

const EVENTS = {
  summary: 'Get changes of a feed as they happen',
  description:
    'A stream for `EventSource` (https://html.spec.whatwg.org/multipage/server-sent-events.html). `event: changed` says ' +
    'that the feed has changed, but not what: ask for it again. Its `id`, which is also its `data`, is the version of the ' +
    'feed: opaque, and another one after every change. Several changes soon after each other may be one event. If the version ' +
    'that the client sends is not that of the feed, the first event comes at once. After 15 seconds without an event the ' +
    'stream sends a comment. One client may have 20 streams open.\n\n' +
    'With `?notes=1` the stream has the notes: `event: note` for each new one, in the order in which they came, with the Note ' +
    'as `data` and its id as `id`; `event: edited` with the Note, and `event: gone` with its `id`. A client that connects ' +
    'again sends the last `id` of a note (`0` if there was none) and first gets the notes that came since, of more than 100 ' +
    'only the newest; edits and removals are sent only while it listens. `event: reset` says that something was left out: ' +
    'ask for the list again. After it the stream is complete again.\n\n' +
    'With `Accept: application/x-ndjson` the same comes as one JSON object a line, with `event`, `id`, and in `note` and ' +
    '`edited` the Note as `note`. Only the `id` of a `note` can be sent to connect again. Empty lines take the place of comments.',
  parameters: ['toldNotes', 'lastEventId', 'since'],
  answers: {
    200: {
      description: 'The stream, which stays open.',
      headers: ['Cache-Control', 'X-Accel-Buffering'],
      content: { 'text/event-stream': 'text', 'application/x-ndjson': 'text' },
    },
  },
} as const satisfies Partial<OperationDocs>;

const EVENTS_BY_READ_ID: OperationDocs = { ...EVENTS, tag: 'Reading' };

const EVENTS_BY_NAME: OperationDocs = {
  ...EVENTS,
  tag: 'Feeds',
  description:
    `${EVENTS.description}\n\nThe feed need not exist: an event comes when it is made. The stream ends when the feed is ` +
    'deleted, and when its password is changed, set or removed. A stream that was opened with the session of a browser ends ' +
    'with that session.',
};

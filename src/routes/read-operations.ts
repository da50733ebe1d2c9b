import { mediaType, PICTURE_TYPES } from '../feeds/note-types.ts';
import type { Exchange } from '../http/exchange.ts';
import { readIdOf } from '../read/reader.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { CONDITIONAL, conditionalAnswers, type OperationDocs } from './operation-docs.ts';

type View = 'publicFeed' | 'publicList' | 'publicNote' | 'readPage' | 'readNotePage' | 'file';

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
  answers: conditionalAnswers({ 'application/json': 'ReadFeed' }, 'The feed.'),
};

const LIST: OperationDocs = {
  ...READING,
  summary: 'List notes by the read id, newest first',
  parameters: ['limit', 'before', 'tag', ...CONDITIONAL],
  answers: conditionalAnswers({ 'application/json': 'NoteList' }, 'A page of notes.'),
};

const NOTE: OperationDocs = {
  ...READING,
  summary: 'Read a note by the read id',
  answers: conditionalAnswers({ 'application/json': 'Note' }, 'The note.'),
};

const SYNDICATION = {
  ...READING,
  description: 'The newest notes: 50, or fewer where their texts would exceed 1 MiB together; one at least.',
  parameters: ['tag', ...CONDITIONAL],
} as const satisfies Partial<OperationDocs>;

const RSS: OperationDocs = {
  ...SYNDICATION,
  summary: 'The newest notes as RSS 2.0',
  answers: conditionalAnswers({ 'application/rss+xml; charset=utf-8': 'text' }, 'The RSS feed.'),
};

const JSON_FEED: OperationDocs = {
  ...SYNDICATION,
  summary: 'The newest notes as JSON Feed 1.1',
  answers: conditionalAnswers({ 'application/feed+json': 'JsonFeed' }, 'The JSON Feed.'),
};

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
    ...conditionalAnswers(FILE_CONTENT, 'The file.', ['Accept-Ranges', 'Content-Security-Policy']),
    206: {
      description: 'The part asked for.',
      headers: [
        'Accept-Ranges',
        'Cache-Control',
        'Content-Range',
        'Content-Security-Policy',
        'ETag',
        'Last-Modified',
      ],
      content: FILE_CONTENT,
    },
  },
  refusals: ['range'],
};

/** Streams of changes, by the read id and by the name. */
function eventOperations({ events }: OperationParts): DescribedOperation[] {
  const open = { access: 'public', cors: true, docs: EVENTS_BY_READ_ID } as const;
  const named = { access: 'reader', docs: EVENTS_BY_NAME } as const;
  return [
    operation('readEvents', 'GET /r/{readId}/events', open, (exchange) =>
      events.byReadId(readIdOf(exchange), exchange.client, sinceOf(exchange)),
    ),
    operation('feedEvents', 'GET /api/v1/feeds/{feed}/events', named, (exchange, { name, feed, caller }) =>
      events.byName(name, feed, caller, sinceOf(exchange)),
    ),
  ];
}

/** Browsers send the last event's version when they reconnect; a first request names the version the page shows. */
function sinceOf(exchange: Exchange): string | undefined {
  return exchange.header('last-event-id') || exchange.query('since') || undefined;
}

const EVENTS = {
  summary: 'Hear of changes as they happen',
  description:
    'The stream is for `EventSource` (https://html.spec.whatwg.org/multipage/server-sent-events.html). `event: changed` ' +
    'says that the feed has changed, not what: ask for it again. Its `id`, which is also its `data`, is the version of ' +
    'the feed, opaque and another one after every change. Changes that follow each other closely may be one event. The ' +
    'first event comes at once if the version that the client has is not the one of the feed. A comment comes where ' +
    'nothing else does for 15 seconds. One client may have 20 streams open.',
  parameters: ['lastEventId', 'since'],
  answers: {
    200: {
      description: 'The stream, which stays open.',
      headers: ['Cache-Control', 'X-Accel-Buffering'],
      content: { 'text/event-stream': 'text' },
    },
  },
} as const satisfies Partial<OperationDocs>;

const EVENTS_BY_READ_ID: OperationDocs = { ...EVENTS, tag: 'Reading' };

const EVENTS_BY_NAME: OperationDocs = {
  ...EVENTS,
  tag: 'Feeds',
  description:
    `${EVENTS.description}\n\nThe feed need not exist: the stream tells when it is made. The stream ends when the feed is ` +
    'deleted, and when its password is changed, set or removed. One that was opened with the session of a browser ends ' +
    'with it.',
};

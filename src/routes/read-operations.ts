import { mediaType, PICTURE_TYPES } from '../feeds/note-types.ts';
import type { Admission, OperationDefinition } from './operation.ts';
import { CONDITIONAL, conditionalAnswers, type OperationDocs, PUBLIC_READ } from './operation-docs.ts';
import type { OperationParts } from './operations.ts';

/** The public reads, by read id. Scripts of any web page may make them. */
export function readOperations({ reader }: OperationParts): OperationDefinition[] {
  type Handle = (Admission & { access: 'public' })['handle'];
  const api = (id: string, path: `/${string}`, docs: OperationDocs, handle: Handle): OperationDefinition => {
    return { id, route: `GET ${path}`, access: 'public', cors: true, docs, handle };
  };
  const page = (id: string, path: `/${string}`, handle: Handle): OperationDefinition => {
    return { id, route: `GET ${path}`, access: 'public', isPage: true, handle };
  };
  return [
    api('getReadFeed', '/api/v1/read/{readId}', FEED, (exchange) => reader.publicFeed(exchange)),
    api('listReadNotes', '/api/v1/read/{readId}/notes', LIST, (exchange) => reader.publicList(exchange)),
    api('getReadNote', '/api/v1/read/{readId}/notes/{id}', NOTE, (exchange) => reader.publicNote(exchange)),
    api('rss', '/r/{readId}/feed.xml', RSS, (exchange) => reader.rss(exchange)),
    api('jsonFeed', '/r/{readId}/feed.json', JSON_FEED, (exchange) => reader.jsonFeed(exchange)),
    page('readPage', '/r/{readId}', (exchange) => reader.readPage(exchange)),
    {
      ...page('readNotePage', '/r/{readId}/{id}', (exchange) => reader.readNotePage(exchange)),
      accepts: ([, id = '']) => !id.includes('.'),
    },
    {
      ...api('file', '/r/{readId}/{file}', FILE, (exchange) => reader.file(exchange)),
      accepts: ([, file = '']) => file.includes('.'),
    },
  ];
}

const READING = {
  tag: 'Reading',
  parameters: CONDITIONAL,
  refusals: PUBLIC_READ,
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

const FEED_LENGTH =
  'The newest notes: 50, or fewer where their texts would exceed 1 MiB together; one at least.';

const RSS: OperationDocs = {
  ...READING,
  summary: 'The newest notes as RSS 2.0',
  description: FEED_LENGTH,
  parameters: ['tag', ...CONDITIONAL],
  answers: conditionalAnswers({ 'application/rss+xml; charset=utf-8': 'text' }, 'The RSS feed.'),
};

const JSON_FEED: OperationDocs = {
  ...READING,
  summary: 'The newest notes as JSON Feed 1.1',
  description: FEED_LENGTH,
  parameters: ['tag', ...CONDITIONAL],
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
  refusals: [...PUBLIC_READ, 'range'],
};

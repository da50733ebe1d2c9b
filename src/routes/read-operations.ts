import { mediaType, NOTE_TYPES } from '../feeds/note-types.ts';
import type { Admission, DescribedOperation } from './operation.ts';
import { CONDITIONAL, conditionalAnswers, type OperationDocs, PUBLIC_READ } from './operation-docs.ts';
import type { OperationParts } from './operations.ts';

/** What everybody with the read link may read, scripts of other web pages included. */
export function readOperations({ reader }: OperationParts): DescribedOperation[] {
  const get = (
    id: string,
    path: string,
    docs: OperationDocs,
    handle: (Admission & { access: 'public' })['handle'],
  ): DescribedOperation => ({ id, method: 'GET', path, access: 'public', cors: true, docs, handle });
  const page = (
    id: string,
    path: string,
    handle: (Admission & { access: 'public' })['handle'],
  ): DescribedOperation => ({ id, method: 'GET', path, access: 'public', isPage: true, handle });
  return [
    get('getReadFeed', '/api/v1/read/{readId}', FEED, (exchange) => reader.publicFeed(exchange)),
    get('listReadNotes', '/api/v1/read/{readId}/notes', LIST, (exchange) => reader.publicList(exchange)),
    get('getReadNote', '/api/v1/read/{readId}/notes/{id}', NOTE, (exchange) => reader.publicNote(exchange)),
    get('rss', '/r/{readId}/feed.xml', RSS, (exchange) => reader.rss(exchange)),
    get('jsonFeed', '/r/{readId}/feed.json', JSON_FEED, (exchange) => reader.jsonFeed(exchange)),
    page('readPage', '/r/{readId}', (exchange) => reader.readPage(exchange)),
    {
      ...page('readNotePage', '/r/{readId}/{id}', (exchange) => reader.readNotePage(exchange)),
      accepts: ([, id = '']) => !id.includes('.'),
    },
    {
      ...get('file', '/r/{readId}/{file}', FILE, (exchange) => reader.file(exchange)),
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
const FILE_CONTENT = Object.fromEntries(
  NOTE_TYPES.map((type) =>
    type === 'md'
      ? [`${mediaType(type)}; charset=utf-8`, 'text' as const]
      : [mediaType(type), 'bytes' as const],
  ),
);

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

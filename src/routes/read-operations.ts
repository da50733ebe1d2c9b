import { mediaType, PICTURE_TYPES } from '../feeds/note-types.ts';
import type { Exchange } from '../http/exchange.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { CONDITIONAL, conditionalAnswers, type OperationDocs, READ_ERRORS } from './operation-docs.ts';

type View = 'publicFeed' | 'publicList' | 'publicNote' | 'readPage' | 'readNotePage' | 'file';

/** The public reads, by read id. Scripts of any web page may make them. */
export function readOperations({ reader }: OperationParts): DescribedOperation[] {
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
  ];
}

const READING = {
  tag: 'Reading',
  parameters: CONDITIONAL,
  refusals: READ_ERRORS,
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
  refusals: [...READ_ERRORS, 'range'],
};

import { mediaType, NOTE_TYPES } from '../feeds/note-types.ts';
import {
  CONDITIONAL,
  conditionalAnswers,
  type DescribedOperation,
  type OperationDocs,
  PUBLIC_READ,
} from './operation-docs.ts';
import type { OperationParts } from './operations.ts';

/** What everybody with the read link may read, scripts of other web pages included. */
export function readOperations({ reader }: OperationParts): DescribedOperation[] {
  const get = (
    id: string,
    path: string,
    docs: OperationDocs,
    handle: DescribedOperation['handle'],
  ): DescribedOperation => ({ id, method: 'GET', path, cors: true, docs, handle });
  return [
    get('readFeed', '/api/v1/read/{read_id}', FEED, (exchange) => reader.publicFeed(exchange)),
    get('readNotes', '/api/v1/read/{read_id}/notes', LIST, (exchange) => reader.publicList(exchange)),
    get('readNote', '/api/v1/read/{read_id}/notes/{id}', NOTE, (exchange) => reader.publicNote(exchange)),
    get('rss', '/r/{read_id}/feed.xml', RSS, (exchange) => reader.rss(exchange)),
    get('jsonFeed', '/r/{read_id}/feed.json', JSON_FEED, (exchange) => reader.jsonFeed(exchange)),
    get('file', '/r/{read_id}/{file}', FILE, (exchange) => reader.file(exchange)),
  ];
}

const READING = {
  tag: 'Reading',
  access: 'public',
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

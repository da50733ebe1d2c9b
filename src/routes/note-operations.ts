import { json } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Posted } from '../ingest/post.ts';
import { type CreatedJson, createdNote, type NamedPlace, namedNote } from '../read/views/note-json.ts';
import { NO_CONTENT } from './no-content.ts';
import {
  CHANGING,
  CONDITIONAL,
  conditionalAnswers,
  type DescribedOperation,
  DONE,
  JSON_BODY,
  jsonAnswer,
  NAMED,
  NOTE_BODY,
  type OperationDocs,
} from './operation-docs.ts';
import type { OperationParts } from './operations.ts';

/** Notes by the name of their feed. Each has two paths: the note's own `url`, and one under the API. */
export function noteOperations({ guard, posting, editing, reader }: OperationParts): DescribedOperation[] {
  // A request whose Host gives no base for links is refused before anything is changed.
  const post = async (exchange: Exchange) => {
    const { base } = exchange;
    const { name, feed } = await guard.posted(exchange);
    const posted = await posting.post(name, exchange, feed, () => guard.feed(exchange, name));
    const place = { base, readId: posted.feed.readId, name };
    const created = createdNote(posted.note, place);
    return json(201, { ...created, ...attachmentsOf(posted, place) }, { Location: created.url });
  };
  const replace = async (exchange: Exchange) => {
    const { base } = exchange;
    const feed = await guard.changed(exchange);
    const replaced = await editing.replace(feed, exchange.parameter(1), exchange);
    const place = { base, readId: feed.readId, name: feed.name };
    return json(200, { ...namedNote(replaced.note, place), ...attachmentsOf(replaced, place) });
  };
  const change = async (exchange: Exchange) => {
    const { base } = exchange;
    const feed = await guard.changed(exchange);
    const note = await editing.change(feed, exchange.parameter(1), exchange);
    return json(200, namedNote(note, { base, readId: feed.readId, name: feed.name }));
  };
  const remove = async (exchange: Exchange) => {
    const feed = await guard.changed(exchange);
    await editing.remove(feed, exchange.parameter(1), exchange);
    return NO_CONTENT;
  };
  const notes = '/api/v1/feeds/{feed}/notes';
  const note = `${notes}/{id}`;
  const url = '/{feed}/{id}';
  return [
    { id: 'postNote', method: 'POST', path: '/{feed}', overLiteral: true, docs: POST, handle: post },
    { id: 'createNote', method: 'POST', path: notes, docs: POST, handle: post },
    {
      id: 'listNotes',
      method: 'GET',
      path: notes,
      docs: LIST,
      handle: async (exchange) => reader.namedList(exchange, await guard.owned(exchange)),
    },
    {
      id: 'getNote',
      method: 'GET',
      path: note,
      docs: GET,
      handle: async (exchange) => {
        const feed = await guard.owned(exchange);
        return reader.namedNote(exchange, feed, exchange.parameter(1));
      },
    },
    { id: 'replaceNoteByUrl', method: 'PUT', path: url, docs: REPLACE, handle: replace },
    { id: 'replaceNote', method: 'PUT', path: note, docs: REPLACE, handle: replace },
    { id: 'changeNoteByUrl', method: 'PATCH', path: url, docs: CHANGE, handle: change },
    { id: 'changeNote', method: 'PATCH', path: note, docs: CHANGE, handle: change },
    { id: 'deleteNoteByUrl', method: 'DELETE', path: url, docs: DELETE, handle: remove },
    { id: 'deleteNote', method: 'DELETE', path: note, docs: DELETE, handle: remove },
  ];
}

/** What the answer to a form says beyond the answer to a body that is the note. */
function attachmentsOf(
  { attachments }: Pick<Posted, 'attachments'>,
  place: NamedPlace,
): { attachments?: CreatedJson[] } {
  return attachments ? { attachments: attachments.map((note) => createdNote(note, place)) } : {};
}

const NOTES = { tag: 'Notes', access: 'name' } as const;

const POST: OperationDocs = {
  ...NOTES,
  summary: 'Post a note',
  description:
    'The body is the note, stored byte for byte: markdown in UTF-8 of at most 100 KB, or a picture of at most 5 MiB ' +
    'unless the instance says otherwise. The first note makes the feed. `X-Note-Alt` and `X-Note-Name` are for ' +
    'pictures only.\n\n' +
    'As `multipart/form-data` it is a text with its pictures, all stored or none: the text refers to a picture by its ' +
    'file name (`![alt](name)`), which becomes the name of the stored file; a picture that the text does not refer to is ' +
    'added at its end. `X-Note-Tags` is for all of them, `X-Note-Title` for the text, or for the pictures where there is none.',
  parameters: ['title', 'extendedTitle', 'tags', 'alt', 'extendedAlt', 'name', 'extendedName', 'readId'],
  body: 'note',
  answers: {
    201: {
      description: 'The note is stored and will survive a crash.',
      headers: ['Cache-Control', 'Location'],
      content: { 'application/json': 'Posted' },
    },
  },
  refusals: [
    ...CHANGING.filter((code) => code !== 'not_found'),
    ...NOTE_BODY,
    'reserved_feed',
    'feed_exists',
    'taken',
    'feed_limit',
    'note_limit',
    'image_limit',
  ],
};

const LIST: OperationDocs = {
  ...NOTES,
  summary: 'List notes, newest first',
  parameters: ['limit', 'before', 'tag', ...CONDITIONAL],
  answers: conditionalAnswers({ 'application/json': 'NoteList' }, 'A page of notes.'),
  refusals: NAMED,
};

const GET: OperationDocs = {
  ...NOTES,
  summary: 'Read a note',
  parameters: CONDITIONAL,
  answers: conditionalAnswers({ 'application/json': 'Note' }, 'The note.'),
  refusals: NAMED,
};

const REPLACE: OperationDocs = {
  ...NOTES,
  summary: 'Replace a note',
  description:
    'A note is replaced by one of the same type; its id, date, title, tags, alternative text and name stay. ' +
    'As `multipart/form-data` a text brings new pictures with it; `X-Note-Tags` is for these.',
  parameters: ['tags'],
  body: 'note',
  answers: { 200: jsonAnswer('Replaced', 'The note as it is now.') },
  refusals: [...CHANGING, ...NOTE_BODY, 'image_limit'],
};

const CHANGE: OperationDocs = {
  ...NOTES,
  summary: 'Change the title or alternative text of a note',
  description: 'Only a picture has an alternative text.',
  body: 'NoteChanges',
  answers: { 200: jsonAnswer('Note', 'The note as it is now.') },
  refusals: [...CHANGING, ...JSON_BODY],
};

const DELETE: OperationDocs = {
  ...NOTES,
  summary: 'Delete a note',
  description: 'For good. A picture that is the title image of its feed is that no more.',
  answers: DONE,
  refusals: CHANGING,
};

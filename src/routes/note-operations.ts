import { existing } from '../access/access.ts';
import { ROUTE_NAMES } from '../feeds/names.ts';
import { json, NO_CONTENT } from '../http/answer.ts';
import type { Posted } from '../ingest/post.ts';
import { type CreatedJson, createdNote, type NamedPlace, namedNote } from '../read/views/note-json.ts';
import { jsonBody } from '../requests/json-body.ts';
import { admitPost, admitReplacement } from '../requests/submission.ts';
import type { Feed } from '../storage/storage.ts';
import { placeOf } from './caller.ts';
import type { Admission, DescribedOperation } from './operation.ts';
import {
  CHANGING,
  CONDITIONAL,
  conditionalAnswers,
  DONE,
  JSON_BODY,
  jsonAnswer,
  NAMED,
  NOTE_BODY,
  type OperationDocs,
} from './operation-docs.ts';
import type { OperationParts } from './operations.ts';
import { isFromOwnPage } from './own-page.ts';
import { withCookies } from './see-other.ts';

/** Notes by the name of their feed. Each has two paths: the note's own `url`, and one under the API. */
export function noteOperations(parts: OperationParts): DescribedOperation[] {
  const { access, posting, editing, reader, limits, licensing, maxImageBytes } = parts;
  /** What is known of a feed before the body is read; the storage decides. */
  const rulesOf = (feed: Feed | undefined) => ({
    maxImageBytes,
    limits: licensing?.limitsOf(feed) ?? limits,
  });
  const post: Admission = {
    access: 'poster',
    async handle(exchange, { name, feed, caller, base }) {
      const { readId, read } = admitPost(exchange, rulesOf(feed));
      if (feed === undefined) posting.admitReadId(name, readId);
      const submission = await read();
      const posted = await posting.post({ name, feed }, { submission, limits, readId }, caller);
      const place = { base, readId: posted.feed.readId, name };
      const created = createdNote(posted.note, place);
      const answer = json(201, { ...created, ...attachmentsOf(posted, place) }, { Location: created.url });
      // The page that has made a protected feed goes on to show it.
      const isUnlocked = feed === undefined && isFromOwnPage(exchange);
      return isUnlocked
        ? withCookies(answer, access.unlocks.cookies(posted.feed, placeOf(exchange)))
        : answer;
    },
  };
  const replace: Admission = {
    access: 'writer',
    async handle(exchange, { feed, caller, base }) {
      const submission = await admitReplacement(exchange, rulesOf(feed))();
      const id = exchange.parameters[1]!;
      const replaced = await editing.replace(feed, id, { submission, limits }, caller);
      const place = { base, readId: feed.readId, name: feed.name };
      return json(200, { ...namedNote(replaced.note, place), ...attachmentsOf(replaced, place) });
    },
  };
  const change: Admission = {
    access: 'writer',
    async handle(exchange, { feed, caller, base }) {
      const changes = await jsonBody(exchange, 'NoteChanges');
      const note = await editing.change(feed, exchange.parameters[1]!, changes, caller);
      return json(200, namedNote(note, { base, readId: feed.readId, name: feed.name }));
    },
  };
  const remove: Admission = {
    access: 'writer',
    async handle(exchange, { feed, caller }) {
      await editing.remove(feed, exchange.parameters[1]!, caller);
      return NO_CONTENT;
    },
  };
  const notes = '/api/v1/feeds/{feed}/notes';
  const note = `${notes}/{id}`;
  // What is below a reserved name is no note.
  const byUrl = { path: '/{feed}/{id}', accepts: ([feed = '']: readonly string[]) => !ROUTE_NAMES.has(feed) };
  return [
    { id: 'postNoteByUrl', method: 'POST', path: '/{feed}', docs: POST, ...post },
    { id: 'postNote', method: 'POST', path: notes, docs: POST, ...post },
    {
      id: 'listNotes',
      method: 'GET',
      path: notes,
      docs: LIST,
      access: 'reader',
      handle: (exchange, named) => reader.namedList(exchange, named),
    },
    {
      id: 'getNote',
      method: 'GET',
      path: note,
      docs: GET,
      access: 'reader',
      handle: (exchange, { feed }) => reader.namedNote(exchange, existing(feed), exchange.parameters[1]!),
    },
    {
      id: 'feedPage',
      method: 'GET',
      path: '/{feed}',
      // The one reserved name at which there is something, but nothing to get.
      accepts: ([feed]) => feed !== 'mcp',
      access: 'feed-page',
      handle: (exchange, named) => reader.feedPage(exchange, named),
    },
    {
      id: 'notePage',
      method: 'GET',
      ...byUrl,
      access: 'feed-page',
      handle: (exchange, { feed }) => reader.notePage(exchange, existing(feed), exchange.parameters[1]!),
    },
    { id: 'editNoteByUrl', method: 'PUT', ...byUrl, docs: EDIT, ...replace },
    { id: 'editNote', method: 'PUT', path: note, docs: EDIT, ...replace },
    { id: 'patchNoteByUrl', method: 'PATCH', ...byUrl, docs: PATCH, ...change },
    { id: 'patchNote', method: 'PATCH', path: note, docs: PATCH, ...change },
    { id: 'deleteNoteByUrl', method: 'DELETE', ...byUrl, docs: DELETE, ...remove },
    { id: 'deleteNote', method: 'DELETE', path: note, docs: DELETE, ...remove },
  ];
}

/** What the answer to a form says beyond the answer to a body that is the note. */
function attachmentsOf(
  { attachments }: Pick<Posted, 'attachments'>,
  place: NamedPlace,
): { attachments?: CreatedJson[] } {
  return attachments ? { attachments: attachments.map((note) => createdNote(note, place)) } : {};
}

const NOTES = { tag: 'Notes' } as const;

const POST: OperationDocs = {
  ...NOTES,
  summary: 'Post a note',
  description:
    'The body is the note, stored byte for byte: markdown in UTF-8 of at most 100 KB, or a picture of at most 5 MiB ' +
    'unless the instance says otherwise. The first note makes the feed. `X-Note-Alt` and `X-Note-Name` are for ' +
    'pictures only: on markdown the first is refused, the second ignored.\n\n' +
    'As `multipart/form-data` it is a text with its pictures, all stored or none: the text refers to a picture by its ' +
    'file name (`![alt](name)`), which becomes the name of the stored file; a picture that the text does not refer to is ' +
    'added at its end. `X-Note-Tags` is for all of them, `X-Note-Title` for the text, or for the pictures where there is none.',
  parameters: [
    'title',
    'extendedTitle',
    'tags',
    'alt',
    'extendedAlt',
    'name',
    'extendedName',
    'chosenReadId',
  ],
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

const EDIT: OperationDocs = {
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

const PATCH: OperationDocs = {
  ...NOTES,
  summary: 'Change the title, alternative text or tags of a note',
  description: 'Only a picture has an alternative text. An empty text or array removes.',
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

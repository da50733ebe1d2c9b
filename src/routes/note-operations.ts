import type { NamedFeed } from '../access/access.ts';
import type { Feed } from '../feeds/feed.ts';
import { type Answer, json, NO_CONTENT } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Posted } from '../ingest/post.ts';
import { createdNote, type NamedPlace } from '../read/views/note-json.ts';
import { existing } from '../refusals.ts';
import { jsonBody, previewText } from '../requests/bodies.ts';
import type { SubmissionRules } from '../requests/multipart.ts';
import { admitPost, admitReplacement } from '../requests/read-submission.ts';
import { cookieScopeOf, isFromOwnPage } from './caller.ts';
import {
  type Admitted,
  type DescribedOperation,
  type HandlerOf,
  type OperationParts,
  operation,
} from './operation.ts';
import {
  CONDITIONAL,
  conditionalAnswers,
  jsonAnswer,
  NO_CONTENT_ANSWER,
  type OperationDocs,
} from './operation-docs.ts';
import { withCookies } from './redirects.ts';

const NOTES = '/api/v1/feeds/{feed}/notes';
const NOTE = `${NOTES}/{id}` as const;
const NOTE_URL = '/{feed}/{id}';

/** Notes by the name of their feed. Each has two paths: the note's own `url`, and one under the API. */
export function noteOperations(parts: OperationParts): DescribedOperation[] {
  const { editing } = parts;
  const post: HandlerOf<'poster'> = (...call) => postNote(parts, ...call);
  const replace: HandlerOf<'writer'> = (...call) => replaceNote(parts, ...call);
  const change: HandlerOf<'writer'> = async (exchange, { feed, caller, base }) => {
    const changes = await jsonBody(exchange, 'NoteChanges');
    const note = await editing.change(feed, exchange.parameters[1]!, changes, caller);
    const place = { base, readId: feed.readId, name: feed.name };
    return json(200, await parts.reader.changedNote(note, place));
  };
  const remove: HandlerOf<'writer'> = (exchange, { feed, caller }) =>
    editing.remove(feed, exchange.parameters[1]!, caller).then(() => NO_CONTENT);
  const write = (docs: OperationDocs) => ({ access: 'writer', docs }) as const;
  return [
    operation('postNoteByUrl', 'POST /{feed}', { access: 'poster', docs: POST }, post),
    operation('postNote', `POST ${NOTES}`, { access: 'poster', docs: POST }, post),
    ...noteReads(parts),
    operation('editNoteByUrl', `PUT ${NOTE_URL}`, write(EDIT), replace),
    operation('editNote', `PUT ${NOTE}`, write(EDIT), replace),
    operation('patchNoteByUrl', `PATCH ${NOTE_URL}`, write(PATCH), change),
    operation('patchNote', `PATCH ${NOTE}`, write(PATCH), change),
    operation('deleteNoteByUrl', `DELETE ${NOTE_URL}`, write(DELETE), remove),
    operation('deleteNote', `DELETE ${NOTE}`, write(DELETE), remove),
  ];
}

function noteReads({ reader }: OperationParts): DescribedOperation[] {
  const preview = { access: 'previewer', docs: PREVIEW } as const;
  const page = { access: 'feed-page' } as const;
  return [
    operation('listNotes', `GET ${NOTES}`, { access: 'reader', docs: LIST }, (exchange, named) =>
      reader.namedList(exchange, named),
    ),
    operation('getNote', `GET ${NOTE}`, { access: 'reader', docs: GET }, (exchange, { feed }) =>
      reader.namedNote(exchange, existing(feed, 'feed'), exchange.parameters[1]!),
    ),
    // GET /mcp is 405, because only its POST exists.
    operation(
      'feedPage',
      'GET /{feed}',
      { ...page, accepts: ([feed]) => feed !== 'mcp' },
      (exchange, named) => reader.feedPage(exchange, named),
    ),
    operation('notePage', `GET ${NOTE_URL}`, page, (exchange, { feed }) =>
      reader.notePage(exchange, existing(feed, 'feed'), exchange.parameters[1]!),
    ),
    operation('preview', 'POST /api/v1/feeds/{feed}/preview', preview, async (exchange, { feed }) =>
      json(200, { html: await reader.preview(exchange, await previewText(exchange), feed) }),
    ),
  ];
}

async function postNote(
  parts: OperationParts,
  exchange: Exchange,
  { name, feed, caller, base }: NamedFeed & Admitted,
): Promise<Answer> {
  const { access, posting } = parts;
  const { readId, read } = admitPost(exchange, rulesOf(parts, feed));
  const admitted = posting.admit({ name, feed }, readId);
  const submission = await read();
  const posted = await posting.post(admitted, submission, caller);
  const place = { base, readId: posted.feed.readId, name };
  const created = createdNote(posted.note, place);
  const answer = json(201, { ...created, ...attachmentsOf(posted, place) }, { Location: created.url });
  // A page that made a protected feed then shows it.
  const isUnlocked = feed === undefined && isFromOwnPage(exchange);
  return isUnlocked
    ? withCookies(answer, access.unlocks.cookies(posted.feed, cookieScopeOf(exchange)))
    : answer;
}

async function replaceNote(
  parts: OperationParts,
  exchange: Exchange,
  { feed, caller, base }: Admitted & { readonly feed: Feed },
): Promise<Answer> {
  const submission = await admitReplacement(exchange, rulesOf(parts, feed))();
  const replaced = await parts.editing.replace(feed, exchange.parameters[1]!, submission, caller);
  const place = { base, readId: feed.readId, name: feed.name };
  return json(200, {
    ...(await parts.reader.changedNote(replaced.note, place)),
    ...attachmentsOf(replaced, place),
  });
}

/** The rules as known before the body is read; the storage decides. */
function rulesOf(
  { maxImageBytes, limits, licensing }: OperationParts,
  feed: Feed | undefined,
): SubmissionRules {
  return { maxImageBytes, limits: licensing?.limitsOf(feed) ?? limits };
}

/** A member for the pictures of a form; none for a body that is the note. */
function attachmentsOf({ attachments }: Pick<Posted, 'attachments'>, place: NamedPlace) {
  return attachments && { attachments: attachments.map((note) => createdNote(note, place)) };
}

const POST: OperationDocs = {
  tag: 'Notes',
  summary: 'Post a note',
  description:
    'The body is the note, stored byte for byte: markdown in UTF-8 of at most 100 KB, or a picture of at most 5 MiB ' +
    'unless the instance says otherwise. As `text/plain` and `application/x-www-form-urlencoded` it is markdown too; as ' +
    '`application/octet-stream` a picture whose type its first bytes tell; without a type one or the other. The first ' +
    'note makes the feed. `X-Note-Alt` and `X-Note-Name` are for ' +
    'pictures only: on markdown the first is refused, the second ignored.\n\n' +
    'As `multipart/form-data` it is a text with its pictures, all stored or none: the text refers to a picture by its ' +
    'file name (`![alt](name)`), which becomes the name of the stored file; a picture that the text does not refer to is ' +
    'added at its end. `X-Note-Tags` is for all of them, `X-Note-Title` for the text, or for the pictures where there is none.',
  parameters: [
    'title',
    'extendedTitle',
    'tags',
    'extendedTags',
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
  refusals: ['feed_exists', 'taken', 'feed_limit', 'note_limit', 'image_limit'],
};

const LIST: OperationDocs = {
  tag: 'Notes',
  summary: 'List notes, newest first',
  parameters: ['limit', 'before', 'tag', ...CONDITIONAL],
  answers: conditionalAnswers({ 'application/json': 'NoteList' }, 'A page of notes.'),
  refusals: ['not_found'],
};

const GET: OperationDocs = {
  tag: 'Notes',
  summary: 'Read a note',
  parameters: CONDITIONAL,
  answers: conditionalAnswers({ 'application/json': 'Note' }, 'The note.'),
  refusals: ['not_found'],
};

const EDIT: OperationDocs = {
  tag: 'Notes',
  summary: 'Replace a note',
  description:
    'A note is replaced by one of the same type; its id, date, title, tags, alternative text and name stay. ' +
    'As `multipart/form-data` a text brings new pictures with it; `X-Note-Tags` is for these.',
  parameters: ['tags', 'extendedTags'],
  body: 'note',
  answers: { 200: jsonAnswer('Replaced', 'The note as it is now.') },
  refusals: ['image_limit', 'unreadable_file'],
};

const PATCH: OperationDocs = {
  tag: 'Notes',
  summary: 'Change the title, alternative text or tags of a note',
  description: 'Only a picture has an alternative text. An empty text or array removes.',
  body: 'NoteChanges',
  answers: { 200: jsonAnswer('Note', 'The note as it is now.') },
  refusals: ['unreadable_file'],
};

const DELETE: OperationDocs = {
  tag: 'Notes',
  summary: 'Delete a note',
  description: 'Permanent. If the picture is the title image of its feed, the feed has none afterwards.',
  answers: NO_CONTENT_ANSWER,
};

const PREVIEW: OperationDocs = {
  tag: 'Notes',
  summary: 'Render a text without posting it',
  description:
    'The HTML that pages would show for a note of this text. Nothing is stored, and the feed need not exist. It has a ' +
    'rate limit of its own.',
  body: 'PreviewText',
  answers: { 200: jsonAnswer('Preview', 'The text as HTML.') },
};

import type { NamedFeed } from '../access/access.ts';
import type { Feed } from '../feeds/feed.ts';
import type { Note } from '../feeds/note.ts';
import { type Answer, json, NO_CONTENT } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Posted } from '../ingest/post.ts';
import { createdNote, type NamedPlace } from '../read/views/note-json.ts';
import { existing, Refusal } from '../refusals.ts';
import { previewText } from '../requests/bodies.ts';
import { conditionalJson, ifMatch } from '../requests/conditions.ts';
import type { SubmissionRules } from '../requests/multipart.ts';
import { admitKeyedNote, admitPost, admitReplacement } from '../requests/read-submission.ts';
import { noteEtag } from '../writing/etags.ts';
import { cookieScopeOf, isFromOwnPage } from './caller.ts';
import {
  type Admitted,
  type DescribedOperation,
  forWriter,
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
  SELECTION,
} from './operation-docs.ts';
import { withCookies } from './redirects.ts';

const NOTES = '/api/v1/feeds/{feed}/notes';
const NOTE = `${NOTES}/{id}` as const;
const NOTE_URL = '/{feed}/{id}';

/** Notes by the name of their feed. Each has two paths: the note's own `url`, and one under the API. */
export function noteOperations(parts: OperationParts): DescribedOperation[] {
  const { editing } = parts;
  const post: HandlerOf<'poster'> = async (exchange, call) => {
    refuseKeyInQuery(exchange);
    return postNote(parts, exchange, call);
  };
  const replace: HandlerOf<'writer'> = (...call) => replaceNote(parts, ...call);
  const putByKey: HandlerOf<'poster'> = (exchange, call) =>
    postNote(parts, exchange, call, exchange.query('key') ?? '');
  const change: HandlerOf<'writer'> = async (exchange, { feed, caller, base }) => {
    const { etags, changes } = await conditionalJson(exchange, 'NoteChanges');
    const changed = await editing.change(feed, exchange.parameters[1]!, changes, caller, etags);
    return changedNote(parts, changed, base);
  };
  const remove: HandlerOf<'writer'> = (exchange, { feed, caller }) =>
    editing.remove(feed, exchange.parameters[1]!, caller, ifMatch(exchange)).then(() => NO_CONTENT);
  return [
    operation('postNoteByUrl', 'POST /{feed}', { access: 'poster', docs: POST }, post),
    operation('postNote', `POST ${NOTES}`, { access: 'poster', docs: POST }, post),
    operation('putNoteByKey', `PUT ${NOTES}`, { access: 'poster', docs: PUT_BY_KEY }, putByKey),
    ...noteReads(parts),
    operation('editNoteByUrl', `PUT ${NOTE_URL}`, forWriter(EDIT), replace),
    operation('editNote', `PUT ${NOTE}`, forWriter(EDIT), replace),
    operation('patchNoteByUrl', `PATCH ${NOTE_URL}`, forWriter(PATCH), change),
    operation('patchNote', `PATCH ${NOTE}`, forWriter(PATCH), change),
    operation('deleteNoteByUrl', `DELETE ${NOTE_URL}`, forWriter(DELETE), remove),
    operation('deleteNote', `DELETE ${NOTE}`, forWriter(DELETE), remove),
  ];
}

function noteReads({ reader }: OperationParts): DescribedOperation[] {
  const preview = { access: 'previewer', docs: PREVIEW } as const;
  const page = { access: 'feed-page' } as const;
  return [
    operation('listNotes', `GET ${NOTES}`, { access: 'reader', docs: LIST }, (exchange, named) =>
      reader.namedList(exchange, named),
    ),
    operation(
      'listTags',
      'GET /api/v1/feeds/{feed}/tags',
      { access: 'reader', docs: TAGS },
      (exchange, named) => reader.namedTags(exchange, named),
    ),
    operation('getNote', `GET ${NOTE}`, { access: 'reader', docs: GET }, (exchange, { feed }) =>
      reader.namedNote(exchange, existing(feed, 'feed'), exchange.parameters[1]!),
    ),
    // GET /mcp is 405, because only its POST exists.
    operation(
      'feedPage',
      'GET /{feed}',
      { ...page, accepts: ([feed]) => feed !== 'mcp' },
      (exchange, named) => reader.feedPage(exchange, named, named.caller.session),
    ),
    operation('notePage', `GET ${NOTE_URL}`, page, (exchange, { feed, caller }) =>
      reader.notePage(exchange, existing(feed, 'feed'), exchange.parameters[1]!, caller.session),
    ),
    operation('preview', 'POST /api/v1/feeds/{feed}/preview', preview, async (exchange, { feed }) =>
      json(200, { html: await reader.preview(exchange, await previewText(exchange), feed) }),
    ),
  ];
}

/** A PUT by key that is sent as a POST, as curl does with a body, would make one more note each time. */
function refuseKeyInQuery(exchange: Exchange): void {
  if (exchange.query('key') !== undefined)
    throw new Refusal(
      'invalid_request',
      'A key in the address is for PUT; a POST has it in the header Idempotency-Key.',
    );
}

/** @param key of a note that the post replaces; undefined for a post that replaces none */
async function postNote(
  parts: OperationParts,
  exchange: Exchange,
  { name, feed, caller, base }: NamedFeed & Admitted,
  key?: string,
): Promise<Answer> {
  const { posting } = parts;
  const rules = rulesOf(parts, feed);
  const { readId, condition, read } =
    key === undefined ? admitPost(exchange, rules) : admitKeyedNote(exchange, rules, key);
  const admitted = posting.admit({ name, feed }, readId, condition);
  const posted = await posting.post(admitted, await read(), caller, key !== undefined);
  if (posted.outcome === 'replaced') return changedNote(parts, posted, base);
  return postedNote(parts, exchange, { posted, base, isNew: feed === undefined });
}

/** @param isNew whether the post may have made the feed */
function postedNote(
  { access }: OperationParts,
  exchange: Exchange,
  { posted, base, isNew }: { readonly posted: Posted; readonly base: string; readonly isNew: boolean },
): Answer {
  const { feed, note, outcome } = posted;
  const place = placeOf(feed, base);
  const created = createdNote(note, place);
  const answer = json(
    201,
    { ...created, ...attachmentsOf(posted, place) },
    {
      Location: created.url,
      ...etagOf(posted),
      ...(outcome === 'replayed' && { 'Idempotent-Replayed': 'true' }),
    },
  );
  // A page that made a protected feed then shows it.
  const isUnlocked = isNew && isFromOwnPage(exchange);
  return isUnlocked ? withCookies(answer, access.unlocks.cookies(feed, cookieScopeOf(exchange))) : answer;
}

async function replaceNote(
  parts: OperationParts,
  exchange: Exchange,
  { feed, caller, base }: Admitted & { readonly feed: Feed },
): Promise<Answer> {
  const read = admitReplacement(exchange, rulesOf(parts, feed));
  const etags = ifMatch(exchange);
  const replaced = await parts.editing.replace(feed, exchange.parameters[1]!, await read(), caller, etags);
  return changedNote(parts, replaced, base);
}

type ChangedNote = { readonly feed: Feed; readonly note: Note } & Partial<Pick<Posted, 'attachments'>>;

async function changedNote({ reader }: OperationParts, changed: ChangedNote, base: string): Promise<Answer> {
  const place = placeOf(changed.feed, base);
  const note = await reader.changedNote(changed.note, changed.feed, base);
  return json(200, { ...note, ...attachmentsOf(changed, place) }, etagOf(changed));
}

function placeOf({ name, readId }: Feed, base: string): NamedPlace {
  return { base, readId, name };
}

function etagOf({ note, feed }: Pick<Posted, 'note' | 'feed'>): { readonly ETag: string } {
  return { ETag: `"${noteEtag(note, feed)}"` };
}

/** The rules as known before the body is read; the storage decides. */
export function rulesOf(
  { maxImageBytes, limits, licensing }: OperationParts,
  feed: Feed | undefined,
): SubmissionRules {
  return { maxImageBytes, limits: licensing?.limitsOf(feed) ?? limits };
}

/** A member for the pictures of a form; none for a body that is the note. */
function attachmentsOf({ attachments }: Partial<Pick<Posted, 'attachments'>>, place: NamedPlace) {
  return attachments && { attachments: attachments.map((note) => createdNote(note, place)) };
}

const POST_HEADERS = [
  'title',
  'extendedTitle',
  'tags',
  'extendedTags',
  'alt',
  'extendedAlt',
  'name',
  'extendedName',
  'expires',
  'unlisted',
  'chosenReadId',
  'ifFeedMatches',
  'ifNoFeed',
] as const;
const POST_REFUSALS = [
  'feed_exists',
  'taken',
  'changed',
  'feed_limit',
  'note_limit',
  'image_limit',
  'byte_limit',
] as const;

const BLOCKED_PICTURE = jsonAnswer(
  'Error',
  '`blocked`: the operator has removed this picture; no feed takes it again.',
);

const POST: OperationDocs = {
  tag: 'Notes',
  summary: 'Post a note',
  description:
    'The body is the note, stored byte for byte: markdown in UTF-8 of at most 100 KB, or a picture of at most 5 MiB ' +
    'unless the instance says otherwise. With the type `text/plain` or `application/x-www-form-urlencoded` it is markdown too; with ' +
    '`application/octet-stream` it is a picture, and its first bytes tell which type; without a type its first bytes tell what it ' +
    'is. The first note makes the feed. `X-Note-Alt` and `X-Note-Name` are for ' +
    'pictures only: on markdown the first is refused, the second ignored.\n\n' +
    'As `multipart/form-data` it is a text with its pictures, all stored or none: the text refers to a picture by its ' +
    'file name (`![alt](name)`), which becomes the name of the stored file; a picture that the text does not refer to is ' +
    'added at its end. `X-Note-Tags` and `X-Note-Expires` are for all of them, `X-Note-Title` for the text, or for the ' +
    'pictures if there is no text.\n\nAs `application/json` it is a text, and members of the JSON take the place of the headers.\n\n' +
    'A `key` in the query is refused, because it is for `PUT`.',
  parameters: [...POST_HEADERS, 'idempotencyKey'],
  body: 'newNote',
  answers: {
    201: {
      description: 'The note is stored and will survive a crash.',
      headers: ['Cache-Control', 'Location', 'ETag', 'Idempotent-Replayed'],
      content: { 'application/json': 'Posted' },
    },
    451: BLOCKED_PICTURE,
  },
  refusals: [...POST_REFUSALS, 'key_reused'],
};

const PUT_BY_KEY: OperationDocs = {
  tag: 'Notes',
  summary: 'Make or replace the note of a key',
  description:
    'If no note of the feed has the key, this posts one, with all that a post may have. Otherwise that note gets the bytes and the ' +
    'metadata of this request: metadata that are left out are removed; id and date stay. The type must be the same. A form needs ' +
    'a text.',
  parameters: ['key', ...POST_HEADERS],
  body: 'newNote',
  answers: {
    200: jsonAnswer('Replaced', 'The note as it is now.', ['ETag']),
    201: {
      description: 'The note is stored and will survive a crash.',
      headers: ['Cache-Control', 'Location', 'ETag'],
      content: { 'application/json': 'Posted' },
    },
    451: BLOCKED_PICTURE,
  },
  refusals: [...POST_REFUSALS, 'unreadable_file'],
};

const LIST: OperationDocs = {
  tag: 'Notes',
  summary: 'List or search notes, newest first',
  parameters: ['limit', 'before', ...SELECTION, ...CONDITIONAL],
  answers: conditionalAnswers({ 'application/json': 'NoteList' }, 'A page of notes.', ['X-Robots-Tag']),
  refusals: ['not_found'],
};

const TAGS: OperationDocs = {
  tag: 'Notes',
  summary: 'List the tags of a feed',
  parameters: ['tagStart', ...CONDITIONAL],
  answers: conditionalAnswers({ 'application/json': 'TagList' }, 'The tags.', ['X-Robots-Tag']),
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
    'Only the bytes change, and the type must be the same; id, date, title, tags, alternative text and name stay. ' +
    'As `multipart/form-data` a text brings new pictures with it, and `X-Note-Tags` are the tags of these pictures.',
  parameters: ['tags', 'extendedTags', 'ifMatch'],
  body: 'note',
  answers: { 200: jsonAnswer('Replaced', 'The note as it is now.', ['ETag']), 451: BLOCKED_PICTURE },
  refusals: ['changed', 'image_limit', 'byte_limit', 'unreadable_file'],
};

const PATCH: OperationDocs = {
  tag: 'Notes',
  summary: 'Change the title, alternative text, tags or expiry of a note',
  description:
    'What the body leaves out stays. An empty text or array removes a value. Only a picture has an alternative text.',
  parameters: ['ifMatch'],
  body: 'NoteChanges',
  answers: { 200: jsonAnswer('Note', 'The note as it is now.', ['ETag']) },
  refusals: ['changed', 'unreadable_file'],
};

const DELETE: OperationDocs = {
  tag: 'Notes',
  summary: 'Delete a note',
  description: 'Permanent. If the picture is the title image of its feed, the feed has none afterwards.',
  parameters: ['ifMatch'],
  answers: NO_CONTENT_ANSWER,
  refusals: ['changed'],
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

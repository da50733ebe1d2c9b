import type { Caller, NamedFeed } from '../access/access.ts';
import { noteKey } from '../feeds/keeping.ts';
import type { HookKind, HookNote } from '../hooks/hook.ts';
import { HOOK_KINDS } from '../hooks/kinds.ts';
import { type Answer, json, NO_CONTENT, NOSNIFF } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';
import type { Submission } from '../ingest/submission.ts';
import { onRefusal, Refusal } from '../refusals.ts';
import { ownMembers } from '../requests/read-submission.ts';
import { type Admitted, type DescribedOperation, type OperationParts, operation } from './operation.ts';
import type { OperationDocs } from './operation-docs.ts';

/** Largest payload, bytes. */
const MAX_HOOK_BYTES = 256 * 1024;

/** What other programs send of their own accord becomes notes. */
export function hookOperations(parts: OperationParts): DescribedOperation[] {
  const traits = { access: 'poster', takesBasic: true, docs: HOOK } as const;
  return [
    operation('postHook', 'POST /api/v1/feeds/{feed}/hooks/{kind}', traits, (exchange, admitted) =>
      postHook(parts, exchange, admitted),
    ),
  ];
}

async function postHook(
  parts: OperationParts,
  exchange: Exchange,
  { caller, base: _, ...named }: NamedFeed & Admitted,
): Promise<Answer> {
  const kindName = exchange.parameters[1]!;
  const kind = HOOK_KINDS.get(kindName);
  if (kind === undefined)
    throw new Refusal('not_found', `There are hooks of these kinds: ${[...HOOK_KINDS.keys()].join(', ')}.`);
  const sentKey = exchange.header('idempotency-key');
  if (sentKey !== undefined) noteKey(sentKey);
  const checkSecret = secretCheck(parts, kind, exchange, caller);
  const body = await exchange.body(MAX_HOOK_BYTES);
  await checkSecret(body);
  const notes = await parts.readHook({
    kind: kindName,
    feed: named.name,
    contentType: exchange.header('content-type'),
    headers: Object.fromEntries((kind.headers ?? []).map((name) => [name, exchange.header(name)])),
    body,
  });
  if (notes.length === 0) return NO_CONTENT;
  const ids = await postNotes(parts, named, notes, sentKey, caller);
  return answerOf(kind, ids[0]!, exchange.query('wait') === 'true');
}

/** One after the other, so that they stand in the order in which they came. Returns their ids. */
async function postNotes(
  { posting }: OperationParts,
  { name, feed }: NamedFeed,
  notes: readonly HookNote[],
  sentKey: string | undefined,
  caller: Caller,
): Promise<string[]> {
  const ids: string[] = [];
  let known = feed;
  for (const note of notes) {
    const submission = submissionOf(note, note.key ?? (notes.length === 1 ? sentKey : undefined));
    const admitted = posting.admit({ name, feed: known }, '');
    // What is sent again without a change must not count as an edit.
    const posted = await onRefusal(
      () => posting.post(admitted, submission, caller),
      (refusal) => {
        if (note.key === undefined || refusal.code !== 'key_reused') throw refusal;
        return posting.post(admitted, submission, caller, true);
      },
    );
    known = posted.feed;
    ids.push(posted.note.id);
  }
  return ids;
}

function submissionOf({ markdown, title, tags }: HookNote, key: string | undefined): Submission {
  const text = { type: 'md', meta: ownMembers({ title, tags }), bytes: Buffer.from(markdown) } as const;
  return { text, pictures: [], isForm: false, key };
}

/**
 * The check that the sender knows the secret in the address (`?secret=`), if there is one. A wrong signature or token counts as a
 * wrong password.
 * @throws Refusal `invalid_request` for a kind that has no secrets
 */
function secretCheck(
  { access }: OperationParts,
  { knowsSecret }: HookKind,
  exchange: Exchange,
  { client }: Caller,
): (body: Uint8Array) => Promise<void> {
  const secret = exchange.query('secret');
  if (secret === undefined) return async () => {};
  if (knowsSecret === undefined)
    throw new Refusal('invalid_request', 'Hooks of this kind have no secret: only github and gitlab do.');
  return async (body) => {
    const knows = knowsSecret(secret, body, (name) => exchange.header(name));
    if (knows === undefined) throw new Refusal('auth', 'The signature or token of the secret is missing.');
    await access.guesses.countIfWrong(client, knows, 'The signature or token is not that of the secret.');
  };
}

const OK: Answer = {
  status: 200,
  headers: headers({
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'private, no-store',
    ...NOSNIFF,
  }),
  body: Buffer.from('ok'),
};

function answerOf({ answer }: HookKind, id: string, waits: boolean): Answer {
  if (answer === 'ok') return OK;
  return answer === 'nothing' && !waits ? NO_CONTENT : json(200, { id });
}

const HOOK: OperationDocs = {
  tag: 'Notes',
  summary: 'Post what another program sends',
  description:
    'Makes notes of the payload of another program, of at most 256 KB: what GitHub, GitLab, Grafana and others send, or what ' +
    'Slack and Discord take. The notes have the kind and the status as tags. An alert or a run has a key, so a later call about ' +
    'it replaces its note. All values are shown as text. Of GitHub and GitLab only pushes, pull and merge requests, issues, ' +
    'releases and finished runs make notes. The kind `slack` is answered with `ok`, and `discord` with 204 unless `wait=true`.',
  parameters: ['secret', 'wait', 'idempotencyKey'],
  body: 'payload',
  answers: {
    200: {
      description: 'The note, or the first of several, is stored or replaced.',
      headers: ['Cache-Control'],
      content: {
        'application/json': {
          type: 'object',
          properties: { id: { type: 'string', description: 'The id of the note.' } },
          required: ['id'],
        },
        'text/plain': 'text',
      },
    },
    204: {
      description: 'The note is stored (`discord`), or this event makes no note.',
      headers: ['Cache-Control'],
    },
  },
  refusals: [
    'not_found',
    'feed_exists',
    'key_reused',
    'feed_limit',
    'note_limit',
    'byte_limit',
    'unsupported_type',
    'unreadable_file',
  ],
};

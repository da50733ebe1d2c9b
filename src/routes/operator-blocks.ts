import { isReadId } from '../feeds/names.ts';
import { json, NO_CONTENT } from '../http/answer.ts';
import { BLOCK_KINDS, type Block } from '../ingest/blocks.ts';
import type { TakenDown } from '../ingest/takedown.ts';
import { notFound, Refusal } from '../refusals.ts';
import { jsonBody } from '../requests/bodies.ts';
import type { Json } from '../schemas.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { jsonAnswer, NO_CONTENT_ANSWER, type OperatorDocs } from './operation-docs.ts';
import { addressIn, audited, cursorOf, forOperator, limitIn, nameIn, placeOf } from './operator-request.ts';

/** SHA-256 in base64url. */
const HASH = /^[A-Za-z0-9_-]{43}$/;

/** Closing names, taking down what readers have reported, and opening again what was closed. */
export function blockOperations({ blocks, takedown, audit }: OperationParts): DescribedOperation[] {
  const path = '/api/operator/blocks';
  const unblock = (
    id: string,
    rest: string,
    docs: OperatorDocs,
    kind: 'link' | 'picture',
    isKey: (key: string) => boolean,
  ) =>
    operation(id, `DELETE ${path}/${rest}`, forOperator(docs), async (exchange, caller) => {
      const [key = ''] = exchange.parameters;
      if (!isKey(key)) throw notFound('block');
      await audited(blocks.unblock(kind, key), () => audit(`unblock ${kind}`, caller));
      return NO_CONTENT;
    });
  return [
    operation('listBlocks', `GET ${path}`, forOperator(LIST), async (exchange) => {
      const after = placeOf(exchange.query('after'), ([kind, key]) => {
        const known = BLOCK_KINDS.find((one) => one === kind);
        return known && typeof key === 'string' ? { kind: known, key } : undefined;
      });
      const page = await blocks.list(limitIn(exchange), after);
      const next = page.next ? cursorOf(page.next.kind, page.next.key) : null;
      const body: Json<'Blocks'> = { blocks: page.blocks.map(blockJson), next };
      return json(200, body);
    }),
    operation('blockName', `PUT ${path}/{feed}`, forOperator(BLOCK), async (exchange, caller) => {
      const name = nameIn(exchange);
      await audited(blocks.blockName(name), () => audit('block name', caller, name));
      return NO_CONTENT;
    }),
    operation('unblockName', `DELETE ${path}/{feed}`, forOperator(UNBLOCK), async (exchange, caller) => {
      const name = nameIn(exchange);
      await audited(blocks.unblock('name', name), () => audit('unblock name', caller, name));
      return NO_CONTENT;
    }),
    unblock('unblockLink', 'links/{readId}', UNBLOCK_LINK, 'link', isReadId),
    unblock('unblockPicture', 'pictures/{sha256}', UNBLOCK_PICTURE, 'picture', (key) => HASH.test(key)),
    operation('takeDown', 'POST /api/operator/takedown', forOperator(TAKE_DOWN), async (exchange, caller) => {
      const { target, read_id, file, block = false } = await jsonBody(exchange, 'Takedown');
      if ((target === undefined) === (read_id === undefined))
        throw new Refusal('invalid_body', 'The body must have either "target" or "read_id".');
      const named =
        target === undefined ? { readId: read_id!, note: file } : addressIn(exchange, target, false);
      const what = named.note === undefined ? 'take down feed' : 'take down note';
      const leave = (taken?: TakenDown) =>
        audit(block ? `${what} and block` : what, caller, taken?.feed?.name);
      const { removed } = await audited(takedown.take(named, block, caller), leave);
      return json(200, { removed });
    }),
  ];
}

function blockJson({ kind, key, value, at }: Block): Json<'Blocks'>['blocks'][number] {
  return { kind, key, ...(value !== '' && { target: value }), at: new Date(at).toISOString() };
}

const LIST: OperatorDocs = {
  summary: 'List what is closed',
  parameters: ['operatorLimit', 'after'],
  answers: { 200: jsonAnswer('Blocks', 'A page of closed names, read links and pictures.') },
};

const BLOCK: OperatorDocs = {
  summary: 'Close the name of a feed',
  description:
    'The name takes no more posts or changes (403 `blocked`), and its read link shows an empty feed. Whoever knows the name can ' +
    'still read and remove what is there. The feed need not exist.',
  answers: NO_CONTENT_ANSWER,
  refusals: ['invalid_feed'],
};

const UNBLOCK: OperatorDocs = {
  summary: 'Open the name of a feed again',
  answers: NO_CONTENT_ANSWER,
  refusals: ['invalid_feed'],
};

const UNBLOCK_LINK: OperatorDocs = {
  summary: 'Open the read link of a removed feed again',
  description: 'It then shows an empty feed, in place of 410 `removed`.',
  answers: NO_CONTENT_ANSWER,
};

const UNBLOCK_PICTURE: OperatorDocs = {
  summary: 'Let a picture be posted again',
  answers: NO_CONTENT_ANSWER,
};

const TAKE_DOWN: OperatorDocs = {
  summary: 'Remove a note, or a whole feed, by what a report names',
  description:
    'With `block` what was removed stays away: the name of a feed is closed, and what is below its read link is 410 `removed`; ' +
    'a picture with the same bytes is 451 `blocked` wherever it is posted. If it fails before it is done, repeat it.',
  body: 'Takedown',
  answers: { 200: jsonAnswer('TakenDown', 'How many notes were removed.') },
};

import type { Feed } from '../feeds/feed.ts';
import { isFeedName, isReadId } from '../feeds/names.ts';
import { FEED_ORDERS } from '../feeds/order.ts';
import { json, NO_CONTENT } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { licenseJson } from '../read/views/feed-json.ts';
import { jsonBody } from '../requests/bodies.ts';
import type { Json } from '../schemas.ts';
import { VERSION } from '../version.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { jsonAnswer, NO_CONTENT_ANSWER, type OperatorDocs } from './operation-docs.ts';
import { audited, cursorOf, forOperator, invalid, limitIn, nameIn, placeOf } from './operator-request.ts';

/** What the instance holds, and its feeds. */
export function operatedFeedOperations(parts: OperationParts): DescribedOperation[] {
  const { operatedFeeds, places, audit } = parts;
  const path = '/api/operator/feeds';
  return [
    operation('getStats', 'GET /api/operator/stats', forOperator(STATS), async () => {
      const stats: Json<'Stats'> = { version: VERSION, ...places, ...(await operatedFeeds.totals()) };
      return json(200, stats);
    }),
    operation('listFeeds', `GET ${path}`, forOperator(LIST), (exchange) => list(parts, exchange)),
    operation('removeFeed', `DELETE ${path}/{feed}`, forOperator(REMOVE), async (exchange, caller) => {
      const name = nameIn(exchange);
      await audited(operatedFeeds.remove(name, caller), () => audit('delete feed', caller, name));
      return NO_CONTENT;
    }),
    operation(
      'setFeedPassword',
      `PUT ${path}/{feed}/password`,
      forOperator(PASSWORD),
      async (exchange, caller) => {
        const name = nameIn(exchange);
        const { password } = await jsonBody(exchange, 'NewPassword');
        const change = operatedFeeds.changePassword(name, password);
        await audited(change, () => audit('change password', caller, name));
        return NO_CONTENT;
      },
    ),
    operation(
      'unsetFeedPassword',
      `DELETE ${path}/{feed}/password`,
      forOperator(REMOVE_PASSWORD),
      async (exchange, caller) => {
        const name = nameIn(exchange);
        await audited(operatedFeeds.removePassword(name), () => audit('remove password', caller, name));
        return NO_CONTENT;
      },
    ),
  ];
}

async function list({ operatedFeeds, licensing }: OperationParts, exchange: Exchange) {
  const sort = exchange.query('sort') ?? FEED_ORDERS[0];
  const order = FEED_ORDERS.find((one) => one === sort);
  if (order === undefined) throw invalid(`sort must be one of ${FEED_ORDERS.join(', ')}`);
  const start = exchange.query('q') ?? '';
  const after = placeOf(exchange.query('after'), ([value, name]) =>
    typeof value === 'number' && typeof name === 'string' && isFeedName(name) ? { value, name } : undefined,
  );
  const query = { order, start, limit: limitIn(exchange), after };
  // A text that is no feed name begins no feed name either, so no feed is found.
  const { feeds, next } =
    start === '' || isFeedName(start) ? await operatedFeeds.list(query) : { feeds: [], next: undefined };
  const body: Json<'OperatedFeeds'> = {
    feeds: feeds.map((feed) => ({ ...feedJson(feed), ...licenseJson(licensing?.tierOf(feed)) })),
    next: next === undefined ? null : cursorOf(next.value, next.name),
  };
  return json(200, body);
}

function feedJson(feed: Feed): Json<'OperatedFeeds'>['feeds'][number] {
  const { name, readId, title, noteCount, imageCount, byteCount, changedAt, passwordHash, isBlocked } = feed;
  return {
    name,
    read_id: isReadId(readId) ? readId : null,
    title,
    notes: noteCount,
    pictures: imageCount,
    bytes: byteCount,
    changed_at: new Date(changedAt).toISOString(),
    protected: passwordHash !== undefined,
    blocked: isBlocked,
  };
}

const STATS: OperatorDocs = {
  summary: 'What the instance holds',
  answers: { 200: jsonAnswer('Stats', 'Sums over all feeds.') },
};

const LIST: OperatorDocs = {
  summary: 'List all feeds',
  description: 'A feed that changes while you read the pages may be on two of them, or on none.',
  parameters: ['sort', 'nameStart', 'operatorLimit', 'after'],
  answers: { 200: jsonAnswer('OperatedFeeds', 'A page of feeds.') },
};

const REMOVE: OperatorDocs = {
  summary: 'Delete any feed',
  description: 'Its password is not needed. The name is free at once.',
  answers: NO_CONTENT_ANSWER,
  refusals: ['invalid_feed', 'busy'],
};

const PASSWORD: OperatorDocs = {
  summary: 'Change the password of any feed',
  description:
    'For an owner who forgot it. Every browser that had unlocked the feed is locked out. A feed without a password gets none: 409.',
  body: 'NewPassword',
  answers: NO_CONTENT_ANSWER,
  refusals: ['invalid_feed', 'reserved_feed', 'feed_exists', 'busy'],
};

const REMOVE_PASSWORD: OperatorDocs = {
  summary: 'Remove the password of any feed',
  answers: NO_CONTENT_ANSWER,
  refusals: ['invalid_feed', 'reserved_feed', 'feed_exists'],
};

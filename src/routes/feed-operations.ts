import { json } from '../http/answer.ts';
import { feedJson } from '../read/views/feed-json.ts';
import { NO_CONTENT } from './no-content.ts';
import { CHANGING, type DescribedOperation, DONE, JSON_BODY, jsonAnswer, NAMED } from './operation-docs.ts';
import type { OperationParts } from './operations.ts';

/** The feed record and its password. */
export function feedOperations({ guard, settings }: OperationParts): DescribedOperation[] {
  const feed = '/api/v1/feeds/{feed}';
  return [
    {
      id: 'getFeed',
      method: 'GET',
      path: feed,
      docs: {
        ...FEEDS,
        summary: 'Read the settings of a feed',
        answers: { 200: jsonAnswer('Feed', 'The feed.') },
        refusals: NAMED,
      },
      handle: async (exchange) => json(200, feedJson(await guard.owned(exchange), exchange.base)),
    },
    {
      id: 'changeFeed',
      method: 'PUT',
      path: feed,
      docs: {
        ...FEEDS,
        summary: 'Change the settings of a feed',
        description: 'A request that is refused changes nothing. The body may have 8 KB.',
        body: 'FeedChanges',
        answers: { 200: jsonAnswer('Feed', 'The feed as it is now.') },
        refusals: [...CHANGING, ...JSON_BODY, 'reserved_feed', 'taken'],
      },
      handle: async (exchange) => {
        const { base } = exchange;
        const feed = await guard.changed(exchange);
        return json(200, feedJson(await settings.change(feed, exchange), base));
      },
    },
    {
      id: 'deleteFeed',
      method: 'DELETE',
      path: feed,
      docs: {
        ...FEEDS,
        summary: 'Delete a feed',
        description:
          'With all its notes, for good. The name is free at once; the read link stays empty for ever.',
        answers: DONE,
        refusals: CHANGING,
      },
      handle: async (exchange) => {
        await settings.remove(await guard.changed(exchange), exchange);
        return NO_CONTENT;
      },
    },
    {
      id: 'changeFeedPassword',
      method: 'PUT',
      path: `${feed}/password`,
      docs: {
        ...FEEDS,
        summary: 'Change the password of a feed',
        description: 'Only of a feed that has one: it can only be set by the post that makes the feed.',
        body: 'NewPassword',
        answers: DONE,
        refusals: [...CHANGING, ...JSON_BODY, 'feed_exists', 'reserved_feed'],
      },
      handle: async (exchange) => {
        await settings.changePassword(await guard.changed(exchange), exchange);
        return NO_CONTENT;
      },
    },
    {
      id: 'removeFeedPassword',
      method: 'DELETE',
      path: `${feed}/password`,
      docs: {
        ...FEEDS,
        summary: 'Remove the password of a feed',
        description: 'Then whoever knows the name may write. No other can be set.',
        answers: DONE,
        refusals: [...CHANGING, 'feed_exists', 'reserved_feed'],
      },
      handle: async (exchange) => {
        await settings.removePassword(await guard.changed(exchange));
        return NO_CONTENT;
      },
    },
  ];
}

const FEEDS = { tag: 'Feeds', access: 'name' } as const;

import { existing } from '../access/access.ts';
import { json, NO_CONTENT } from '../http/answer.ts';
import { feedJson } from '../read/views/feed-json.ts';
import { jsonBody } from '../requests/json-body.ts';
import type { Feed } from '../storage/storage.ts';
import type { DescribedOperation } from './operation.ts';
import { CHANGING, DONE, JSON_BODY, jsonAnswer, NAMED } from './operation-docs.ts';
import type { OperationParts } from './operations.ts';

/** The feed record and its password. */
export function feedOperations({ settings, licensing }: OperationParts): DescribedOperation[] {
  const feed = '/api/v1/feeds/{feed}';
  const shown = (record: Feed, base: string) => json(200, feedJson(record, base, licensing?.tierOf(record)));
  return [
    {
      id: 'getFeed',
      access: 'reader',
      method: 'GET',
      path: feed,
      docs: {
        ...FEEDS,
        summary: 'Read the settings of a feed',
        answers: { 200: jsonAnswer('Feed', 'The feed.') },
        refusals: NAMED,
      },
      handle: (_, { feed, base }) => shown(existing(feed), base),
    },
    {
      id: 'updateFeed',
      access: 'writer',
      method: 'PUT',
      path: feed,
      docs: {
        ...FEEDS,
        summary: 'Change the settings of a feed',
        description: 'A request that is refused changes nothing. The body may have 8 KB.',
        body: 'FeedChanges',
        answers: { 200: jsonAnswer('Feed', 'The feed as it is now.') },
        refusals: [...CHANGING, ...JSON_BODY, 'taken'],
      },
      handle: async (exchange, { feed, base }) =>
        shown(await settings.change(feed, await jsonBody(exchange, 'FeedChanges')), base),
    },
    {
      id: 'deleteFeed',
      access: 'writer',
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
      handle: async (_, { feed, caller }) => {
        await settings.remove(feed, caller);
        return NO_CONTENT;
      },
    },
    {
      id: 'changeFeedPassword',
      access: 'writer',
      method: 'PUT',
      path: `${feed}/password`,
      docs: {
        ...FEEDS,
        summary: 'Change the password of a feed',
        description: 'Only of a feed that has one: it can only be set by the post that makes the feed.',
        body: 'NewPassword',
        answers: DONE,
        refusals: [...CHANGING, ...JSON_BODY, 'feed_exists'],
      },
      handle: async (exchange, { feed }) => {
        const { password } = await jsonBody(exchange, 'NewPassword');
        await settings.changePassword(feed, password);
        return NO_CONTENT;
      },
    },
    {
      id: 'removeFeedPassword',
      access: 'writer',
      method: 'DELETE',
      path: `${feed}/password`,
      docs: {
        ...FEEDS,
        summary: 'Remove the password of a feed',
        description: 'Then whoever knows the name may write. No other can be set.',
        answers: DONE,
        refusals: [...CHANGING, 'feed_exists'],
      },
      handle: async (_, { feed }) => {
        await settings.removePassword(feed);
        return NO_CONTENT;
      },
    },
  ];
}

const FEEDS = { tag: 'Feeds' } as const;

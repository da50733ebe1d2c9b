import type { Feed } from '../feeds/feed.ts';
import { json, NO_CONTENT } from '../http/answer.ts';
import { feedJson } from '../read/views/feed-json.ts';
import { existing } from '../refusals.ts';
import { jsonBody } from '../requests/bodies.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import {
  FEED_ERRORS,
  JSON_ERRORS,
  jsonAnswer,
  NO_CONTENT_ANSWER,
  type OperationDocs,
  WRITE_ERRORS,
} from './operation-docs.ts';

export function feedOperations({ settings, licensing }: OperationParts): DescribedOperation[] {
  const path = '/api/v1/feeds/{feed}';
  const answer = (feed: Feed, base: string) => json(200, feedJson(feed, base, licensing?.tierOf(feed)));
  const writer = (docs: OperationDocs) => ({ access: 'writer', docs }) as const;
  return [
    operation('getFeed', `GET ${path}`, { access: 'reader', docs: GET }, (_, { feed, base }) =>
      answer(existing(feed, 'feed'), base),
    ),
    operation('updateFeed', `PUT ${path}`, writer(UPDATE), async (exchange, { feed, base }) =>
      answer(await settings.change(feed, await jsonBody(exchange, 'FeedChanges')), base),
    ),
    operation('deleteFeed', `DELETE ${path}`, writer(DELETE), (_, { feed, caller }) =>
      settings.remove(feed, caller).then(() => NO_CONTENT),
    ),
    operation('changeFeedPassword', `PUT ${path}/password`, writer(PASSWORD), async (exchange, { feed }) => {
      const { password } = await jsonBody(exchange, 'NewPassword');
      await settings.changePassword(feed, password);
      return NO_CONTENT;
    }),
    operation('removeFeedPassword', `DELETE ${path}/password`, writer(REMOVE_PASSWORD), (_, { feed }) =>
      settings.removePassword(feed).then(() => NO_CONTENT),
    ),
  ];
}

const GET: OperationDocs = {
  tag: 'Feeds',
  summary: 'Read the settings of a feed',
  answers: { 200: jsonAnswer('Feed', 'The feed.') },
  refusals: FEED_ERRORS,
};

const UPDATE: OperationDocs = {
  tag: 'Feeds',
  summary: 'Change the settings of a feed',
  description: 'A request that is refused changes nothing. The body may have 8 KB.',
  body: 'FeedChanges',
  answers: { 200: jsonAnswer('Feed', 'The feed as it is now.') },
  refusals: [...WRITE_ERRORS, ...JSON_ERRORS, 'taken', 'unreadable_file'],
};

const DELETE: OperationDocs = {
  tag: 'Feeds',
  summary: 'Delete a feed',
  description: 'With all its notes, for good. The name is free at once; the read link stays empty for ever.',
  answers: NO_CONTENT_ANSWER,
  refusals: WRITE_ERRORS,
};

const PASSWORD: OperationDocs = {
  tag: 'Feeds',
  summary: 'Change the password of a feed',
  description: 'Only of a feed that has one: it can only be set by the post that makes the feed.',
  body: 'NewPassword',
  answers: NO_CONTENT_ANSWER,
  refusals: [...WRITE_ERRORS, ...JSON_ERRORS, 'feed_exists'],
};

const REMOVE_PASSWORD: OperationDocs = {
  tag: 'Feeds',
  summary: 'Remove the password of a feed',
  description: 'Then whoever knows the name may write. No other can be set.',
  answers: NO_CONTENT_ANSWER,
  refusals: [...WRITE_ERRORS, 'feed_exists'],
};

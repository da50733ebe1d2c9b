import type { Feed } from '../feeds/feed.ts';
import { json, NO_CONTENT } from '../http/answer.ts';
import { matchesETag } from '../http/conditional.ts';
import { headers } from '../http/headers.ts';
import type { Licensing } from '../ingest/licensing.ts';
import { feedJson } from '../read/views/feed-json.ts';
import { existing, Refusal } from '../refusals.ts';
import { jsonBody } from '../requests/bodies.ts';
import { conditionalJson, ifMatch } from '../requests/conditions.ts';
import { pageAnswer } from '../web/page.ts';
import { licensePage } from '../web/tier.ts';
import { feedEtag } from '../writing/etags.ts';
import { type DescribedOperation, forWriter, type OperationParts, operation } from './operation.ts';
import { jsonAnswer, NO_CONTENT_ANSWER, type OperationDocs } from './operation-docs.ts';
import { siteForVisitor } from './visitor.ts';

/** The settings of a feed, and its license. */
export function feedOperations(parts: OperationParts): DescribedOperation[] {
  const { settings, licensing } = parts;
  const path = '/api/v1/feeds/{feed}';
  const answer = (feed: Feed, base: string) =>
    json(200, feedJson(feed, base, licensing?.tierOf(feed)), { ETag: etagOf(feed) });
  return [
    operation('getFeed', `GET ${path}`, { access: 'reader', docs: GET }, (exchange, { feed, base }) => {
      const found = existing(feed, 'feed');
      const ETag = etagOf(found);
      // No 304 where feeds have licenses, because a license that ends changes the answer but not the ETag.
      return licensing === undefined && matchesETag(exchange.header('if-none-match') ?? '', ETag)
        ? { status: 304, headers: headers({ 'Cache-Control': 'private, no-store', ETag }) }
        : answer(found, base);
    }),
    operation('updateFeed', `PUT ${path}`, forWriter(UPDATE), async (exchange, { feed, base }) => {
      const { etags, changes } = await conditionalJson(exchange, 'FeedChanges');
      return answer(await settings.change(feed, changes, etags), base);
    }),
    operation('patchFeed', `PATCH ${path}`, forWriter(PATCH), async (exchange, { feed, base }) => {
      const { etags, changes } = await conditionalJson(exchange, 'FeedPatch');
      return answer(await settings.patch(feed, changes, etags), base);
    }),
    operation('deleteFeed', `DELETE ${path}`, forWriter(DELETE), (exchange, { feed, caller }) =>
      settings.remove(feed, caller, ifMatch(exchange)).then(() => NO_CONTENT),
    ),
    operation(
      'changeFeedPassword',
      `PUT ${path}/password`,
      forWriter(PASSWORD),
      async (exchange, { feed }) => {
        const { password } = await jsonBody(exchange, 'NewPassword');
        await settings.changePassword(feed, password);
        return NO_CONTENT;
      },
    ),
    operation('removeFeedPassword', `DELETE ${path}/password`, forWriter(REMOVE_PASSWORD), (_, { feed }) =>
      settings.removePassword(feed).then(() => NO_CONTENT),
    ),
    ...licenseOperations(parts),
  ];
}

function etagOf(feed: Feed): string {
  return `"${feedEtag(feed)}"`;
}

/** The page about licenses, and attaching one. If feeds need none, these addresses are 404. */
function licenseOperations({ site, access, licensing }: OperationParts): DescribedOperation[] {
  const path = '/api/v1/feeds/{feed}/license';
  return [
    operation('licensePage', 'GET /license', { access: 'public', isPage: true }, (exchange) => {
      const { freeNotes } = requireLicensing(licensing).tierOf(undefined);
      return pageAnswer(licensePage(siteForVisitor(site, access, exchange), freeNotes));
    }),
    operation('attachLicense', `PUT ${path}`, forWriter(ATTACH), async (exchange, { feed, caller, base }) => {
      const licenses = requireLicensing(licensing);
      const { license } = await jsonBody(exchange, 'NewLicense');
      const attached = await licenses.attach(feed, license, caller);
      return json(200, feedJson(attached, base, licenses.tierOf(attached)));
    }),
    operation('detachLicense', `DELETE ${path}`, forWriter(DETACH), async (_, { feed, caller }) => {
      await requireLicensing(licensing).detach(feed, caller);
      return NO_CONTENT;
    }),
  ];
}

/** @throws Refusal `not_found` if feeds need no license */
function requireLicensing(licensing: Licensing | undefined): Licensing {
  if (licensing === undefined) throw new Refusal('not_found', 'Feeds of this instance need no license.');
  return licensing;
}

const GET: OperationDocs = {
  tag: 'Feeds',
  summary: 'Read the settings of a feed',
  parameters: ['ifNoneMatch'],
  answers: {
    200: jsonAnswer('Feed', 'The feed.', ['ETag']),
    304: { description: 'The client has it already.', headers: ['Cache-Control', 'ETag'] },
  },
  refusals: ['not_found'],
};

const UPDATE: OperationDocs = {
  tag: 'Feeds',
  summary: 'Replace title and description of a feed, and change other settings',
  description: 'A request that is refused changes nothing. The body may have 8 KB.',
  parameters: ['ifMatch'],
  body: 'FeedChanges',
  answers: { 200: jsonAnswer('Feed', 'The feed as it is now.', ['ETag']) },
  refusals: ['taken', 'changed', 'unreadable_file'],
};

const PATCH: OperationDocs = {
  ...UPDATE,
  summary: 'Change settings of a feed',
  description:
    'What the body does not name stays, title and description too. A request that is refused changes nothing.',
  body: 'FeedPatch',
};

const DELETE: OperationDocs = {
  tag: 'Feeds',
  summary: 'Delete a feed',
  description: 'With all its notes, for good. The name is free at once; the read link stays empty for ever.',
  parameters: ['ifMatch'],
  answers: NO_CONTENT_ANSWER,
  refusals: ['changed'],
};

const PASSWORD: OperationDocs = {
  tag: 'Feeds',
  summary: 'Change the password of a feed',
  description: 'Only of a feed that has one: it can only be set by the post that makes the feed.',
  body: 'NewPassword',
  answers: NO_CONTENT_ANSWER,
  refusals: ['feed_exists'],
};

const REMOVE_PASSWORD: OperationDocs = {
  tag: 'Feeds',
  summary: 'Remove the password of a feed',
  description: 'Then whoever knows the name may write. No other can be set.',
  answers: NO_CONTENT_ANSWER,
  refusals: ['feed_exists'],
};

const ATTACH: OperationDocs = {
  tag: 'Feeds',
  summary: 'Attach a license to a feed',
  description:
    'In place of the one it has. A license serves as many feeds at once as it says. It is a secret, and is not shown ' +
    'again. Only on an instance whose feeds need licenses; else this is 404.',
  body: 'NewLicense',
  answers: { 200: jsonAnswer('Feed', 'The feed as it is now.') },
  refusals: ['invalid_license', 'taken'],
};

const DETACH: OperationDocs = {
  tag: 'Feeds',
  summary: 'Detach the license of a feed',
  description:
    'Then it can be attached to another feed. What this one has stays. Where feeds need no license, this is 404.',
  answers: NO_CONTENT_ANSWER,
};

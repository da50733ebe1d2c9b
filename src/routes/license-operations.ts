import { json, NO_CONTENT } from '../http/answer.ts';
import type { Licensing } from '../ingest/licensing.ts';
import { feedJson } from '../read/views/feed-json.ts';
import { Refusal } from '../refusals.ts';
import { jsonBody } from '../requests/bodies.ts';
import { pageAnswer } from '../web/page.ts';
import { licensePage } from '../web/tier.ts';
import { type DescribedOperation, isFeedPath, type OperationParts, operation } from './operation.ts';
import {
  JSON_ERRORS,
  jsonAnswer,
  NO_CONTENT_ANSWER,
  type OperationDocs,
  WRITE_ERRORS,
} from './operation-docs.ts';
import { seeOther } from './redirects.ts';
import { explainOnSettings } from './settings-operations.ts';

/** The page about licenses, and attaching one. If feeds need none, these addresses are 404. */
export function licenseOperations(parts: OperationParts): DescribedOperation[] {
  const { site, licensing } = parts;
  const path = '/api/v1/feeds/{feed}/license';
  const writer = (docs: OperationDocs) => ({ access: 'writer', docs }) as const;
  return [
    operation('licensePage', 'GET /license', { access: 'public', isPage: true }, () =>
      pageAnswer(licensePage(site, hosted(licensing).tierOf(undefined).freeNotes)),
    ),
    operation('attachLicense', `PUT ${path}`, writer(ATTACH), async (exchange, { feed, caller, base }) => {
      const licenses = hosted(licensing);
      const { license } = await jsonBody(exchange, 'NewLicense');
      const attached = await licenses.attach(feed, license, caller);
      return json(200, feedJson(attached, base, licenses.tierOf(attached)));
    }),
    operation('detachLicense', `DELETE ${path}`, writer(DETACH), async (_, { feed, caller }) => {
      await hosted(licensing).detach(feed, caller);
      return NO_CONTENT;
    }),
    ...(licensing === undefined ? [] : [licenseForm(parts, licensing)]),
  ];
}

function licenseForm(parts: OperationParts, licensing: Licensing): DescribedOperation {
  const explain = explainOnSettings(parts, 'license');
  const traits = { access: 'feed-form', accepts: isFeedPath, explain } as const;
  return operation('changeLicense', 'POST /{feed}/license', traits, async (exchange, admitted) => {
    const { feed, form, caller } = admitted;
    const action = form.get('action') ?? 'attach';
    if (action !== 'attach' && action !== 'detach')
      throw new Refusal('invalid_request', 'action must be attach or detach.');
    // Mail programs break long lines.
    const text = (form.get('license') ?? '').replaceAll(/\s/g, '');
    await (action === 'attach' ? licensing.attach(feed, text, caller) : licensing.detach(feed, caller));
    return seeOther(exchange, `/${feed.name}/settings?saved=1`);
  });
}

/** @throws Refusal `not_found` if feeds need no license */
function hosted<T>(value: T | undefined): T {
  if (value === undefined) throw new Refusal('not_found', 'Feeds of this instance need no license.');
  return value;
}

const ATTACH: OperationDocs = {
  tag: 'Feeds',
  summary: 'Attach a license to a feed',
  description:
    'In place of the one it has. A license serves as many feeds at once as it says. It is a secret, and is not shown ' +
    'again. Only on an instance whose feeds need licenses; else this is 404.',
  body: 'NewLicense',
  answers: { 200: jsonAnswer('Feed', 'The feed as it is now.') },
  refusals: [...WRITE_ERRORS, ...JSON_ERRORS, 'invalid_license', 'taken'],
};

const DETACH: OperationDocs = {
  tag: 'Feeds',
  summary: 'Detach the license of a feed',
  description:
    'Then it can be attached to another feed. What this one has stays. Where feeds need no license, this is 404.',
  answers: NO_CONTENT_ANSWER,
  refusals: WRITE_ERRORS,
};

import type { Caller } from '../access/access.ts';
import { json } from '../http/answer.ts';
import { type MoveSource, picturePlace } from '../images/image-operator.ts';
import type { OrphanReport } from '../images/unreferenced.ts';
import { joinCalls } from '../once.ts';
import { jsonBody } from '../requests/bodies.ts';
import type { Json, JsonBodies } from '../schemas.ts';
import type { Kind } from '../setting.ts';
import { baseUrl, bucketName, folder, regionName } from '../setting-kinds.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { jsonAnswer, type OperatorDocs } from './operation-docs.ts';
import { blockOperations } from './operator-blocks.ts';
import { operatedFeedOperations } from './operator-feeds.ts';
import { audited, cursorOf, forOperator, invalid, placeOf } from './operator-request.ts';
import { reportsOperations } from './report-operations.ts';

const MAX_BODY_BYTES = 16 * 1024;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;

/** What the operator may do. All of it needs the operator's token; each change leaves an audit line in the log. */
export function operatorOperations(parts: OperationParts): DescribedOperation[] {
  return [
    ...operatedFeedOperations(parts),
    ...blockOperations(parts),
    ...reportsOperations(parts),
    ...imageOperations(parts),
  ];
}

function imageOperations({ images, audit }: OperationParts): DescribedOperation[] {
  const path = '/api/operator/images/unreferenced';
  // It may take hours. A proxy that gives up waiting before must not make each further request do it anew.
  const count = joinCalls(() => images.findOrphans(false));
  const remove = joinCalls((caller: Caller) =>
    audited(images.findOrphans(true), () => audit('remove unreferenced pictures', caller)),
  );
  return [
    operation('countUnreferencedImages', `GET ${path}`, forOperator(COUNT_UNREFERENCED), async () =>
      json(200, orphanJson(await count())),
    ),
    operation(
      'removeUnreferencedImages',
      `DELETE ${path}`,
      forOperator(REMOVE_UNREFERENCED),
      async (_, caller) => json(200, orphanJson(await remove(caller))),
    ),
    operation('moveImages', 'POST /api/operator/images/move', forOperator(MOVE), async (exchange, caller) => {
      const body = await jsonBody(exchange, 'MoveImages', MAX_BODY_BYTES);
      const { from, limit = DEFAULT_LIMIT, after } = body;
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
        throw invalid(`limit must be a whole number from 1 to ${MAX_LIMIT}`);
      const move = images.move({
        from: sourceIn(body),
        limit,
        after: placeOf(after || undefined, picturePlace),
      });
      const { next, ...moved } = await audited(move, () => audit('move pictures', caller));
      const cursor = next ? cursorOf(next.createdAt, next.feed, next.id, next.type) : null;
      return json(200, { from, ...moved, next: cursor });
    }),
  ];
}

const STORE_FAILED = {
  ...jsonAnswer(
    'Error',
    '`store_unavailable`: an image store cannot be listed or used. What was removed or moved until then stays so.',
  ),
  headers: ['Cache-Control', 'Retry-After'],
} as const;

const JOINED =
  'The answer may take hours. A request that comes while a process carries out the same one gets its answer, so repeat it if a proxy gives up waiting.';

const COUNT_UNREFERENCED: OperatorDocs = {
  summary: 'Compare the image store with the notes',
  description: JOINED,
  answers: {
    200: jsonAnswer('Unreferenced', 'Objects that no note refers to, and pictures whose object is missing.'),
    502: STORE_FAILED,
  },
  refusals: ['no_image_store'],
};

const REMOVE_UNREFERENCED: OperatorDocs = {
  summary: 'Remove objects that no note refers to from the image store',
  description: `Only objects that are older than an hour and whose name is a key of the service. ${JOINED}`,
  answers: {
    200: jsonAnswer('Unreferenced', 'What was found, and what was removed.'),
    502: STORE_FAILED,
  },
  refusals: ['no_image_store'],
};

const MOVE: OperatorDocs = {
  summary: 'Move pictures into the image store of the settings',
  description:
    'Moves up to `limit` pictures, the newest first. Call it again with `next` as `after` until that is null. The body may have 16 KB.',
  body: 'MoveImages',
  answers: { 200: jsonAnswer('MovedImages', 'What was moved, and where to go on.'), 502: STORE_FAILED },
  refusals: ['no_image_store', 'same_store'],
};

function orphanJson({ deleted, failed, tooRecent, ...result }: OrphanReport): Json<'Unreferenced'> {
  return { ...result, ...(deleted && { deleted, failed }), too_recent: tooRecent };
}

/** The rules are those of the settings; no value is shown. */
function sourceIn(body: JsonBodies['MoveImages']): MoveSource {
  const { from, access_key, secret_key, region = 'us-east-1' } = body;
  if (from === 'db') return 'db';
  if (from === 'fs') return { kind: 'fs', dir: parseSetting('dir', folder, body.dir) };
  if (from !== 's3') throw invalid('from must be db, fs or s3');
  const endpoint = parseSetting('endpoint', baseUrl, body.endpoint);
  const bucket = parseSetting('bucket', bucketName, body.bucket);
  if (!access_key || !secret_key) throw invalid('access_key and secret_key must be set where from is s3');
  if (regionName.parse(region) === undefined) throw invalid('region must be the name of a region');
  return { kind: 's3', endpoint, bucket, region, accessKey: access_key, secretKey: secret_key };
}

function parseSetting<T>(name: string, { rule, parse }: Kind<T>, text: string | undefined): T {
  const value = text ? parse(text) : undefined;
  if (value === undefined) throw invalid(`${name} must be ${rule}`);
  return value;
}

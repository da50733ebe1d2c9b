import { json } from '../http/answer.ts';
import type { MoveSource } from '../images/image-operator.ts';
import type { OrphanReport } from '../images/unreferenced.ts';
import type { JsonBodies } from '../ingest/json-bodies.ts';
import { Refusal } from '../refusals.ts';
import { jsonBody } from '../requests/json-body.ts';
import type { Setting } from '../setting.ts';
import { baseUrl, bucketName, folder } from '../setting-kinds.ts';
import type { DescribedOperation } from './operation.ts';
import { JSON_BODY, jsonAnswer } from './operation-docs.ts';
import type { OperationParts } from './operations.ts';

const MAX_BODY_BYTES = 16 * 1024;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;

/** What only the operator may do. */
export function operatorOperations({ images, takedown }: OperationParts): DescribedOperation[] {
  const unreferenced = '/api/operator/images/unreferenced';
  return [
    {
      id: 'countUnreferencedImages',
      access: 'operator',
      method: 'GET',
      path: unreferenced,
      docs: {
        ...OPERATOR,
        summary: 'Compare the image store with the notes',
        answers: {
          200: jsonAnswer('Unreferenced', 'What no note refers to, and what notes lack.'),
          502: STORE_FAILED,
        },
        refusals: [...REFUSALS, 'no_image_store', 'store_unavailable'],
      },
      handle: async () => json(200, orphanJson(await images.findOrphans(false))),
    },
    {
      id: 'removeUnreferencedImages',
      access: 'operator',
      method: 'DELETE',
      path: unreferenced,
      docs: {
        ...OPERATOR,
        summary: 'Remove what no note refers to from the image store',
        description: 'Only objects older than an hour that are named by a key.',
        answers: {
          200: jsonAnswer('Unreferenced', 'What was found, and what of it was removed.'),
          502: STORE_FAILED,
        },
        refusals: [...REFUSALS, 'no_image_store', 'store_unavailable'],
      },
      handle: async () => json(200, orphanJson(await images.findOrphans(true))),
    },
    {
      id: 'moveImages',
      access: 'operator',
      method: 'POST',
      path: '/api/operator/images/move',
      docs: {
        ...OPERATOR,
        summary: 'Move pictures into the store of the settings',
        description:
          'Newest first, so many at a time: call it again with `next` as `after` until that is null. The body may have 16 KB.',
        body: 'MoveImages',
        answers: {
          200: jsonAnswer('MovedImages', 'What was moved, and where to go on.'),
          502: STORE_FAILED,
        },
        refusals: [...REFUSALS, ...JSON_BODY, 'no_image_store', 'same_store', 'store_unavailable'],
      },
      handle: async (exchange) => {
        const body = await jsonBody(exchange, 'MoveImages', MAX_BODY_BYTES);
        const { from, limit = DEFAULT_LIMIT, after } = body;
        if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
          throw invalid(`limit must be a whole number from 1 to ${MAX_LIMIT}`);
        const result = await images.move({ from: sourceIn(body), limit, after: after ?? '' });
        const { store, moved, skipped, missing, failed, left, next } = result;
        return json(200, { store, from, moved, skipped, missing, failed, left, next });
      },
    },
    {
      id: 'takeDown',
      access: 'operator',
      method: 'POST',
      path: '/api/operator/takedown',
      docs: {
        ...OPERATOR,
        summary: 'Remove a note, or a whole feed, by what a report names',
        body: 'Takedown',
        answers: { 200: jsonAnswer('TakenDown', 'How many notes were removed.') },
        refusals: [...REFUSALS, ...JSON_BODY, 'store_unavailable'],
      },
      handle: async (exchange, caller) => {
        const { read_id, file } = await jsonBody(exchange, 'Takedown', MAX_BODY_BYTES);
        return json(200, { removed: await takedown.take(read_id, file, caller) });
      },
    },
  ];
}

const OPERATOR = { tag: 'Operator' } as const;
const STORE_FAILED = jsonAnswer(
  'Error',
  '`store_unavailable`: an image store cannot be listed or used. What was removed or moved until then stays so.',
);
const REFUSALS = ['auth', 'too_many_attempts', 'not_found', 'invalid_request'] as const;

function orphanJson(report: OrphanReport) {
  const { store, unreferenced, deleted, failed, tooRecent, missing } = report;
  return {
    store,
    unreferenced,
    ...(deleted && { deleted, failed }),
    too_recent: tooRecent,
    missing,
  };
}

/** The rules of the settings of the same kind; none of the values is ever shown. */
function sourceIn(body: JsonBodies['MoveImages']): MoveSource {
  const { from, access_key, secret_key, region = 'us-east-1' } = body;
  if (from === 'db') return 'db';
  if (from === 'fs') return { kind: 'fs', dir: checked(folder('dir', '/nowhere'), body.dir) };
  if (from !== 's3') throw invalid('from must be db, fs or s3');
  const endpoint = checked(baseUrl('endpoint'), body.endpoint);
  const bucket = checked(bucketName('bucket'), body.bucket);
  if (!access_key || !secret_key) throw invalid('access_key and secret_key must be set where from is s3');
  if (!/^[\w-]{1,64}$/.test(region)) throw invalid('region must be the name of a region');
  return { kind: 's3', endpoint, bucket, region, accessKey: access_key, secretKey: secret_key };
}

function checked<T>({ name, rule, parse }: Setting<T>, text: string | undefined): NonNullable<T> {
  const value = text ? parse(text) : undefined;
  if (value === undefined || value === null) throw invalid(`${name} must be ${rule}`);
  return value;
}

function invalid(sentence: string): Refusal {
  return new Refusal('invalid_request', `${sentence}.`);
}

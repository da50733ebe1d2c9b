import { createHash } from 'node:crypto';
import { json, jsonLine, NOSNIFF } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import { compressOnce, Representation } from '../http/representation.ts';
import { once } from '../once.ts';
import { existing } from '../refusals.ts';
import { VERSION } from '../version.ts';
import { commandLineClient } from '../web/command-line.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { CONDITIONAL, conditionalAnswers, jsonAnswer, type OperationDocs } from './operation-docs.ts';

/** How soon a service that is not ready may be asked again. */
const RETRY_SECONDS = '5';

export function serviceOperations({ readiness, metrics }: OperationParts): DescribedOperation[] {
  return [
    operation('health', 'GET /health', { access: 'public', docs: HEALTH }, () =>
      json(200, { status: 'ok', version: VERSION }),
    ),
    operation('ready', 'GET /health/ready', { access: 'public', docs: READY }, async () => {
      const obstacle = await readiness();
      if (obstacle === undefined) return json(200, { status: 'ready' });
      return json(503, { status: obstacle }, { 'Retry-After': RETRY_SECONDS });
    }),
    operation('metrics', 'GET /metrics', { access: 'metrics', docs: METRICS }, async () => {
      const source = existing(metrics, 'address');
      return {
        status: 200,
        headers: headers({ 'Content-Type': source.contentType, 'Cache-Control': 'no-store', ...NOSNIFF }),
        body: Buffer.from(await source.metricsAnswer()),
      };
    }),
    operation('client', 'GET /static/nf', { access: 'public', docs: CLIENT }, ({ base }) =>
      commandLineClient(base, VERSION),
    ),
  ];
}

/** The OpenAPI document of a table of operations, made at the first request because it takes much memory. */
export function openApiOperation(
  table: () => readonly DescribedOperation[],
  publicUrl: string | undefined,
): DescribedOperation {
  const document = once(async () =>
    representation((await import('./openapi.ts')).openApiDocument(table(), publicUrl)),
  );
  const traits = { access: 'public', cors: true, docs: OPEN_API } as const;
  return operation('getOpenApi', 'GET /api/v1/openapi.json', traits, async (exchange) => {
    return (await document()).answer(exchange);
  });
}

const HEALTH: OperationDocs = {
  tag: 'Service',
  summary: 'Whether the process is alive',
  answers: { 200: jsonAnswer('Health', 'The process is alive: `ok`.') },
};

const READY: OperationDocs = {
  tag: 'Service',
  summary: 'Whether the service takes requests',
  answers: {
    200: jsonAnswer('Status', 'It does: `ready`.'),
    503: {
      ...jsonAnswer(
        'Status',
        'It does not, and `status` says why: it is stopping, has no storage, or has nearly all its connections open.',
      ),
      headers: ['Cache-Control', 'Retry-After'],
    },
  },
};

const METRICS: OperationDocs = {
  tag: 'Service',
  summary: 'Metrics for Prometheus',
  description:
    'Only with `SERVICE_METRICS=1`. If `SERVICE_METRICS_TOKEN` is set, it must be sent as Bearer token.',
  answers: {
    200: { description: 'The metrics.', headers: ['Cache-Control'], content: { 'text/plain': 'text' } },
  },
};

const CLIENT: OperationDocs = {
  tag: 'Service',
  summary: 'A command-line client of this instance',
  description: '`nf`, a POSIX shell script that needs curl. `nf --help` explains it.',
  answers: {
    200: {
      description: 'The script.',
      headers: ['Cache-Control'],
      content: { 'text/x-shellscript': 'text' },
    },
  },
};

const OPEN_API: OperationDocs = {
  tag: 'Service',
  summary: 'This description',
  parameters: CONDITIONAL,
  answers: conditionalAnswers({ 'application/json': 'OpenApi' }, 'An OpenAPI 3.1 document.'),
};

function representation(document: unknown): Representation {
  const body = Buffer.from(jsonLine(document));
  return new Representation({
    body,
    etag: createHash('sha256').update(body).digest('base64url'),
    fields: { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=60', ...NOSNIFF },
    compress: compressOnce,
  });
}

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { json, NOSNIFF } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import { Representation } from '../http/representation.ts';
import { nothingHere } from '../refusals.ts';
import type { DescribedOperation, OperationDefinition } from './operation.ts';
import { CONDITIONAL, conditionalAnswers, jsonAnswer } from './operation-docs.ts';
import type { OperationParts } from './operations.ts';

/** The source of the metrics. */
export interface MetricsSource {
  readonly contentType: string;
  metricsAnswer(): Promise<string>;
}

/** Health and metrics. */
export function serviceOperations({ readiness, metrics }: OperationParts): OperationDefinition[] {
  return [
    {
      id: 'health',
      route: 'GET /health',
      access: 'public',
      docs: {
        tag: 'Service',
        summary: 'Whether the process is alive',
        answers: { 200: jsonAnswer('Status', 'It is: `ok`.') },
        refusals: [],
      },
      handle: () => json(200, { status: 'ok' }),
    },
    {
      id: 'ready',
      route: 'GET /health/ready',
      access: 'public',
      docs: {
        tag: 'Service',
        summary: 'Whether requests should come here',
        answers: {
          200: jsonAnswer('Status', 'They should: `ready`.'),
          503: jsonAnswer('Status', 'Not now, and why: the service stops, or is without its storage.'),
        },
        refusals: [],
      },
      handle: async () => {
        const obstacle = await readiness();
        return json(obstacle === undefined ? 200 : 503, { status: obstacle ?? 'ready' });
      },
    },
    metricsOperation(metrics),
  ];
}

/** `GET /metrics`, which is 404 without a source. */
function metricsOperation(source: MetricsSource | undefined): OperationDefinition {
  return {
    id: 'metrics',
    route: 'GET /metrics',
    access: 'metrics',
    docs: {
      tag: 'Service',
      summary: 'Metrics for Prometheus',
      description:
        'Only with `SERVICE_METRICS=1`, and with `SERVICE_METRICS_TOKEN` as Bearer token where it is set.',
      answers: {
        200: { description: 'The metrics.', headers: ['Cache-Control'], content: { 'text/plain': 'text' } },
      },
      refusals: ['auth', 'not_found'],
    },
    handle: async () => {
      if (source === undefined) throw nothingHere();
      return {
        status: 200,
        headers: headers({ 'Content-Type': source.contentType, 'Cache-Control': 'no-store', ...NOSNIFF }),
        body: Buffer.from(await source.metricsAnswer()),
      };
    },
  };
}

/** The OpenAPI document of a table of operations, made at the first request because it takes much memory. */
export function openApiOperation(
  table: () => readonly DescribedOperation[],
  publicUrl: string | undefined,
): OperationDefinition {
  let document: Promise<Representation> | undefined;
  return {
    id: 'getOpenApi',
    route: 'GET /api/v1/openapi.json',
    access: 'public',
    cors: true,
    docs: {
      tag: 'Service',
      summary: 'This description',
      parameters: CONDITIONAL,
      answers: conditionalAnswers({ 'application/json': 'OpenApi' }, 'An OpenAPI 3.1 document.'),
      refusals: [],
    },
    async handle(exchange) {
      document ??= import('./openapi.ts').then(({ openApiDocument }) =>
        representation(openApiDocument(table(), publicUrl)),
      );
      return (await document).answer(exchange);
    },
  };
}

const COMPRESS = { gzip: promisify(gzip), br: promisify(brotliCompress) };

function representation(document: unknown): Representation {
  const body = Buffer.from(JSON.stringify(document));
  return new Representation({
    body,
    etag: createHash('sha256').update(body).digest('base64url'),
    fields: { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=60', ...NOSNIFF },
    compress: (bytes, coding) => COMPRESS[coding](bytes),
  });
}

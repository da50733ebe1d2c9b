import { createHash, timingSafeEqual } from 'node:crypto';
import { NOSNIFF } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import { Refusal } from '../refusals.ts';
import type { DescribedOperation } from './operation-docs.ts';

/** Where the metrics come from, and who may have them. */
export interface MetricsSource {
  readonly contentType: string;
  metricsAnswer(): Promise<string>;
  /** The Bearer token that is needed; undefined where everybody may ask. */
  readonly token: string | undefined;
}

/** `GET /metrics`; without a source there is nothing at that address. */
export function metricsOperation(source: MetricsSource | undefined): DescribedOperation {
  return {
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    docs: {
      tag: 'Service',
      summary: 'Metrics for Prometheus',
      description:
        'Only with `SERVICE_METRICS=1`, and with `SERVICE_METRICS_TOKEN` as Bearer token where it is set.',
      access: 'public',
      answers: {
        200: { description: 'The metrics.', headers: ['Cache-Control'], content: { 'text/plain': 'text' } },
      },
      refusals: ['auth', 'not_found'],
    },
    handle: async (exchange) => {
      if (source === undefined) throw new Refusal('not_found', 'There is nothing at this address.');
      if (source.token !== undefined) checkToken(exchange.header('authorization'), source.token);
      return {
        status: 200,
        headers: headers({ 'Content-Type': source.contentType, 'Cache-Control': 'no-store', ...NOSNIFF }),
        body: Buffer.from(await source.metricsAnswer()),
      };
    },
  };
}

function checkToken(authorization: string | undefined, token: string): void {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const isRight = timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token}`));
  if (!isRight) throw new Refusal('auth', 'The metrics have a token: send it as Authorization: Bearer.');
}

import { NOSNIFF } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import { Refusal } from '../refusals.ts';
import type { DescribedOperation } from './operation.ts';

/** Where the metrics come from. */
export interface MetricsSource {
  readonly contentType: string;
  metricsAnswer(): Promise<string>;
}

/** `GET /metrics`; without a source there is nothing at that address. */
export function metricsOperation(source: MetricsSource | undefined): DescribedOperation {
  return {
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
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
      if (source === undefined) throw new Refusal('not_found', 'There is nothing at this address.');
      return {
        status: 200,
        headers: headers({ 'Content-Type': source.contentType, 'Cache-Control': 'no-store', ...NOSNIFF }),
        body: Buffer.from(await source.metricsAnswer()),
      };
    },
  };
}

import { Counter, Histogram, type Registry } from 'prom-client';
import type { Outcome } from '../http/transaction.ts';

/** From an answer that was ready to one that waited for all it may wait for, in seconds. */
const REQUEST_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Counts requests. All labels are of our own making (operation ids of the route table, status classes, codes of
 * refusals), so no client decides how many there are. A live answer, which takes hours, is counted by the gauge of those that
 * are open.
 */
export function requestMetrics(registry: Registry): (outcome: Outcome) => void {
  const registers = [registry];
  const durations = new Histogram({
    name: 'service_http_request_duration_seconds',
    help: 'From the request to the last byte of its answer handed to the system',
    labelNames: ['operation', 'status'],
    buckets: REQUEST_SECONDS,
    registers,
  });
  const received = new Counter({
    name: 'service_http_request_bytes_total',
    help: 'Bytes of request bodies that arrived',
    labelNames: ['operation'],
    registers,
  });
  const sent = new Counter({
    name: 'service_http_response_bytes_total',
    help: 'Bytes of answers, without their headers; of those cut off none, nor of those of unknown length',
    labelNames: ['operation'],
    registers,
  });
  const refusals = new Counter({
    name: 'service_refusals_total',
    help: 'Requests answered with an error, by its code',
    labelNames: ['code'],
    registers,
  });
  // Alerts on these need a zero to rise from.
  for (const code of ['rate_limited', 'too_many_attempts', 'busy', 'internal']) refusals.inc({ code }, 0);
  return (outcome) => {
    if (outcome.isLive) return;
    const operation = outcome.operation?.id ?? 'none';
    const status = `${Math.trunc(outcome.status / 100)}xx`;
    durations.observe({ operation, status }, outcome.ms / 1000);
    if (outcome.received > 0) received.inc({ operation }, outcome.received);
    if (outcome.bytes > 0) sent.inc({ operation }, outcome.bytes);
    if (outcome.code !== undefined) refusals.inc({ code: outcome.code });
  };
}

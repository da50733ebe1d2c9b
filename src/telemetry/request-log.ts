import type { Outcome } from '../http/transaction.ts';
import type { Log } from './log.ts';

/**
 * Logs one line per request, with the id of its other lines. It has the pattern of the route, not the path, because that
 * holds a feed's name or read id, and not the client's address.
 */
export function requestLog(log: Log): (outcome: Outcome) => void {
  return ({ request, operation, method, status, ms, bytes, code, error }) => {
    const fields = {
      request: request.requestId,
      method: KNOWN_METHODS.has(method) ? method : 'other',
      route: operation?.path ?? 'none',
      status,
      ms: Math.round(ms * 1000) / 1000,
      bytes,
      ...(code === undefined ? {} : { code }),
    };
    if (error === undefined) log.info('request', fields);
    else log.error('request', { ...fields, err: error });
  };
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

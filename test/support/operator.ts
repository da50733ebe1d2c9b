import { OPERATOR_TOKEN } from './image-settings.ts';
import { ask, type Reply } from './service.ts';

/** The setting of a service that has an operator. */
export const WITH_OPERATOR = { SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN };

/** A request of the operator, with a JSON body if there is one, below `/api/operator`. */
export function operate(url: string, method: string, path: string, body?: unknown): Promise<Reply> {
  return ask(`${url}/api/operator${path}`, {
    method,
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

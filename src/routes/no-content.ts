import type { Answer } from '../http/answer.ts';
import { headers } from '../http/headers.ts';

/** The answer of a change with nothing to show. */
export const NO_CONTENT: Answer = {
  status: 204,
  headers: headers({ 'Cache-Control': 'private, no-store' }),
};

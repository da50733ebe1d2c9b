import { json } from '../http/answer.ts';
import { startPage } from '../web/start-page.ts';
import type { DescribedOperation } from './operation.ts';
import { jsonAnswer } from './operation-docs.ts';
import type { OperationParts } from './operations.ts';

/** What is about no feed. */
export function serviceOperations(parts: OperationParts): DescribedOperation[] {
  const { serviceTitle, readiness } = parts;
  const start = startPage(serviceTitle);
  return [
    {
      id: 'startPage',
      method: 'GET',
      path: '/',
      access: 'page',
      handle: (exchange) => start.answer(exchange),
    },
    {
      id: 'health',
      method: 'GET',
      path: '/health',
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
      method: 'GET',
      path: '/health/ready',
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
  ];
}

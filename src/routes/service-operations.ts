import { type Answer, json } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import { loginPage, startPage } from '../web/start-page.ts';
import type { DescribedOperation } from './operation.ts';
import { jsonAnswer } from './operation-docs.ts';
import type { OperationParts } from './operations.ts';

/** What is about no feed. */
export function serviceOperations(parts: OperationParts): DescribedOperation[] {
  const { serviceTitle, isLocked, readiness } = parts;
  const start = startPage(serviceTitle);
  const login = loginPage(serviceTitle);
  return [
    {
      id: 'startPage',
      method: 'GET',
      path: '/',
      access: 'page',
      handle: (exchange) => start.answer(exchange),
    },
    {
      id: 'loginPage',
      method: 'GET',
      path: '/login',
      access: 'public',
      handle: (exchange) => (isLocked ? login.answer(exchange) : TO_START),
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
    { id: 'logOut', method: 'POST', path: '/logout', access: 'public', handle: () => LOGGED_OUT },
  ];
}

/** Nothing is stored under this name: it is where the pages log out. */
const LOGGED_OUT = toStart({ 'Set-Cookie': 'session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax' });
const TO_START = toStart({});

function toStart(fields: Readonly<Record<string, string>>): Answer {
  return {
    status: 303,
    headers: headers({ Location: '/', 'Cache-Control': 'private, no-store', ...fields }),
  };
}

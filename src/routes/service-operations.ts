import { type Answer, json } from '../http/answer.ts';
import { headers } from '../http/headers.ts';
import { startPage } from '../web/start-page.ts';
import { conditionalAnswers, type DescribedOperation, jsonAnswer } from './operation-docs.ts';
import type { OperationParts } from './operations.ts';

/** What is about no feed. */
export function serviceOperations({ serviceTitle, readiness }: OperationParts): DescribedOperation[] {
  const page = startPage(serviceTitle);
  return [
    {
      id: 'startPage',
      method: 'GET',
      path: '/',
      docs: {
        tag: 'Service',
        summary: 'The start page',
        access: 'public',
        parameters: ['ifNoneMatch'],
        answers: conditionalAnswers({ 'text/html; charset=utf-8': 'text' }, 'A page.', [
          'Content-Security-Policy',
          'Referrer-Policy',
          'X-Frame-Options',
        ]),
        refusals: [],
      },
      handle: (exchange) => page.answer(exchange),
    },
    {
      id: 'health',
      method: 'GET',
      path: '/health',
      docs: {
        tag: 'Service',
        summary: 'Whether the process is alive',
        access: 'public',
        answers: { 200: jsonAnswer('Status', 'It is: `ok`.') },
        refusals: [],
      },
      handle: () => json(200, { status: 'ok' }),
    },
    {
      id: 'ready',
      method: 'GET',
      path: '/health/ready',
      docs: {
        tag: 'Service',
        summary: 'Whether requests should come here',
        access: 'public',
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
    {
      id: 'logOut',
      method: 'POST',
      path: '/logout',
      docs: {
        tag: 'Service',
        summary: 'Log out of the web pages',
        description: 'Stores nothing.',
        access: 'public',
        answers: {
          303: { description: 'To the start page.', headers: ['Cache-Control', 'Location', 'Set-Cookie'] },
        },
        refusals: [],
      },
      handle: () => LOGGED_OUT,
    },
  ];
}

/** Nothing is stored under this name: it is where the pages log out. */
const LOGGED_OUT: Answer = {
  status: 303,
  headers: headers({
    Location: '/',
    'Set-Cookie': 'session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
    'Cache-Control': 'private, no-store',
  }),
};

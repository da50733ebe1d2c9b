import t from 'tap';
import { json, refusalAnswer } from '../../src/http/answer.ts';
import type { Headers } from '../../src/http/headers.ts';
import { Refusal } from '../../src/refusals.ts';

const field = ({ lines }: Headers, name: string) =>
  lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
const body = (bytes: unknown) => JSON.parse(Buffer.from(bytes as Uint8Array).toString());

t.test('JSON for one client is never kept by a cache', async (t) => {
  const answer = json(201, { a: '\u00e9' }, { Location: '/x' });
  t.equal(answer.status, 201);
  t.same(body(answer.body), { a: '\u00e9' });
  t.equal(field(answer.headers, 'Content-Type'), 'application/json');
  t.equal(field(answer.headers, 'Cache-Control'), 'private, no-store');
  t.equal(field(answer.headers, 'X-Content-Type-Options'), 'nosniff');
  t.equal(field(answer.headers, 'Location'), '/x');
});

t.test('a refusal is its sentence, code, status and headers, and nothing of its cause', async (t) => {
  const refusal = new Refusal('busy', 'Try later.', { retryAfter: 5, cause: 'inner' });
  const answer = refusalAnswer(refusal);
  t.equal(answer.status, 503);
  t.equal(answer.code, 'busy');
  t.same(body(answer.body), { error: 'Try later.', code: 'busy' });
  t.equal(field(answer.headers, 'Retry-After'), '5');
  t.equal(field(answer.headers, 'WWW-Authenticate'), undefined);
});

t.test('a 401 always says how to sign in (RFC 9110 §15.5.2)', async (t) => {
  t.equal(field(refusalAnswer(new Refusal('auth', 'No.')).headers, 'WWW-Authenticate'), 'Bearer');
});

import fc from 'fast-check';
import t from 'tap';
import { headers, json, refusalAnswer } from '../../src/http/answer.ts';
import { Refusal } from '../../src/refusals.ts';

const field = (list: readonly string[], name: string) => {
  const at = list.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === name.toLowerCase());
  return at === -1 ? undefined : list[at + 1];
};
const body = (bytes: unknown) => JSON.parse(Buffer.from(bytes as Uint8Array).toString());

t.test('fields come as names and values in order, without those that are undefined', async (t) => {
  t.same(headers({ ETag: '"a"', Vary: undefined, 'X-A': '' }), ['ETag', '"a"', 'X-A', '']);
});

for (const value of [
  'a\r\nSet-Cookie: x',
  'a\n',
  '\ra',
  'a\0',
  'a\x7f',
  'caf\u00e9',
  '\u2028',
  '\u010d\u010a',
]) {
  t.test(`refuses the value ${encodeURIComponent(value)}`, async (t) => {
    t.throws(() => headers({ Location: value }), TypeError);
  });
}
for (const name of ['', 'a b', 'a:', 'a\r\n', '\u00e9', 'a\0']) {
  t.test(`refuses the name "${encodeURIComponent(name)}"`, async (t) => {
    t.throws(() => headers({ [name]: 'x' }), TypeError);
  });
}

t.test('whatever is let through stays on its line', async () => {
  const near = fc.string({ unit: fc.constantFrom('a', ' ', '\t', '\r', '\n', '\0', '\u00ff', '~') });
  fc.assert(
    fc.property(fc.oneof(near, fc.string({ unit: 'binary' })), (value) => {
      try {
        return /^[\t -~]*$/.test(headers({ A: value })[1]!);
      } catch {
        return true;
      }
    }),
  );
});

t.test('the error of a bad field does not repeat its value', async (t) => {
  t.throws(() => headers({ Location: 'secret\n' }), { message: /^((?!secret).)*$/s });
});

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
  const refusal = new Refusal('busy', 'Try later.', { headers: { 'Retry-After': '5' }, cause: 'inner' });
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

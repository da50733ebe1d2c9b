import fc from 'fast-check';
import t from 'tap';
import { type Headers, headers } from '../../src/http/headers.ts';
import type { HttpResponse } from '../../src/http/uws.ts';

/** What the binding is told to write, as it puts it on the wire. */
function written(all: Headers): string {
  let text = '';
  const res = {
    writeHeader(name: string, value: string) {
      text += `${name}: ${value}\r\n`;
      return this;
    },
  };
  all.writeTo(res as unknown as HttpResponse);
  return text;
}

t.test('fields are written in order, without those that are undefined', async (t) => {
  t.equal(written(headers({ ETag: '"a: b"', Vary: undefined, 'X-A': '' })), 'ETag: "a: b"\r\nX-A: \r\n');
  t.equal(written(headers({ 'X-A': '', ETag: '"a"' })), 'X-A: \r\nETag: "a"\r\n');
});

t.test('no fields are written as nothing', async (t) => {
  t.equal(written(headers({})), '');
  t.equal(written(headers({}).concat(headers({ ETag: '"a"' }))), 'ETag: "a"\r\n');
});

t.test('more fields come behind', async (t) => {
  const all = headers({ ETag: '"a"' }).concat(headers({ Vary: 'Accept', 'X-A': 'b' }));
  t.equal(written(all), 'ETag: "a"\r\nVary: Accept\r\nX-A: b\r\n');
});

t.test('what scripts of every page may read says so last', async (t) => {
  const answer = headers({ ETag: '"a"' });
  t.equal(written(answer.withCors), 'ETag: "a"\r\nAccess-Control-Allow-Origin: *\r\n');
  t.equal(written(headers({}).withCors), 'Access-Control-Allow-Origin: *\r\n');
  t.equal(written(answer), 'ETag: "a"\r\n');
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
        return /^A: [\t -~]*\r\n$/.test(written(headers({ A: value })));
      } catch {
        return true;
      }
    }),
  );
});

t.test('the error of a bad field does not repeat its value', async (t) => {
  t.throws(() => headers({ Location: 'secret\n' }), { message: /^((?!secret).)*$/s });
});

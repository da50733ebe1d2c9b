import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { type Method, type Route, Router } from '../../src/http/router.ts';

const notReserved = ([feed]: readonly string[]) => feed !== 'r' && feed !== 'health';
const table: Route[] = [
  { method: 'GET', path: '/' },
  { method: 'POST', path: '/{feed}' },
  { method: 'GET', path: '/health' },
  { method: 'GET', path: '/health/ready' },
  { method: 'GET', path: '/{feed}/{id}', accepts: notReserved },
  { method: 'PUT', path: '/{feed}/{id}', accepts: notReserved },
  { method: 'GET', path: '/{feed}/settings' },
  { method: 'GET', path: '/r/{read_id}/{file}', accepts: ([, file = '']) => file.includes('.') },
  { method: 'GET', path: '/r/{read_id}/{id}' },
  { method: 'GET', path: '/r/{read_id}/feed.xml' },
];
const router = new Router(table);

const found: [method: string, path: string, route: string, parameters: string[]][] = [
  ['GET', '/', '/', []],
  ['POST', '/garden', '/{feed}', ['garden']],
  ['POST', '/garden/', '/{feed}', ['garden']],
  ['GET', '/health', '/health', []],
  ['GET', '/health/', '/health', []],
  ['GET', '/h%65alth', '/health', []],
  ['POST', '/health', '/{feed}', ['health']],
  ['POST', '/r/', '/{feed}', ['r']],
  ['GET', '/garden/settings', '/{feed}/settings', ['garden']],
  ['PUT', '/garden/settings', '/{feed}/{id}', ['garden', 'settings']],
  ['GET', '/garden/n1', '/{feed}/{id}', ['garden', 'n1']],
  ['GET', '/garden/a%20b%2Fc%25', '/{feed}/{id}', ['garden', 'a b/c%']],
  ['GET', '/garden/caf%C3%A9', '/{feed}/{id}', ['garden', 'café']],
  ['GET', '/garden/..', '/{feed}/{id}', ['garden', '..']],
  ['GET', '/r/abc/feed.xml', '/r/{read_id}/feed.xml', ['abc']],
  ['GET', '/r/abc/feed%2exml', '/r/{read_id}/feed.xml', ['abc']],
  ['GET', '/r/abc/x.png', '/r/{read_id}/{file}', ['abc', 'x.png']],
  ['GET', '/r/abc/x%2epng', '/r/{read_id}/{file}', ['abc', 'x.png']],
  ['GET', '/r/abc/x', '/r/{read_id}/{id}', ['abc', 'x']],
];
for (const [method, path, route, parameters] of found) {
  t.test(`${method} ${path} is ${route}`, async (t) => {
    const match = router.match(method, path);
    t.equal(match.route?.path, route);
    t.equal(match.route?.method, method);
    t.same(match.parameters, parameters);
  });
}

const missed: [method: string, path: string, allow: string[]][] = [
  ['POST', '/', ['GET']],
  ['GET', '/garden', ['POST']],
  ['DELETE', '/garden/n1', ['GET', 'PUT']],
  ['DELETE', '/garden/settings', ['GET', 'PUT']],
  ['PATCH', '/health', ['POST', 'GET']],
  ['POST', '/health/ready', ['GET']],
  ['PUT', '/health/other', []],
  ['PUT', '/r/abc/feed.xml', ['GET']],
  ['GET', '/r/abc', []],
  ['GET', '/r/abc/x/y', []],
  ['GET', '//n1', []],
  ['GET', '/garden//', []],
];
for (const [method, path, allow] of missed) {
  t.test(`${method} ${path} is not taken`, async (t) => {
    const match = router.match(method, path);
    t.equal(match.route, undefined);
    t.same(match.allow, allow);
  });
}

for (const path of ['/%', '/%zz', '/%ff', '/garden/%c3', '/%ed%a0%80']) {
  t.test(`${path} is no path`, async (t) => {
    t.throws(() => router.match('GET', path), { name: 'Refusal', code: 'invalid_request' });
  });
}

t.test('two routes for one method and path are a mistake of ours', async (t) => {
  const twice: Route[] = [
    { method: 'GET', path: '/a/{x}' },
    { method: 'GET', path: '/a/{y}' },
  ];
  t.throws(() => new Router(twice), /two routes for GET \/a\/\{y\}/);
});

const methods: Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const shape = fc.array(fc.constantFrom('{a}', 'x', 'y', 'feed.xml'), { minLength: 1, maxLength: 4 });
const tables = fc.uniqueArray(fc.tuple(fc.constantFrom(...methods), shape), {
  selector: ([method, segments]) => `${method} ${segments.join('/')}`,
  minLength: 1,
  maxLength: 12,
});
/** Never one of the literals above. */
const value = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).map((text) => `${text}!`);

t.test('every path made from the pattern of a route finds it', async () => {
  fc.assert(
    fc.property(tables, fc.nat(), fc.array(value, { minLength: 4, maxLength: 4 }), (shapes, pick, values) => {
      const routes = shapes.map(([method, segments]) => ({ method, path: `/${segments.join('/')}` }));
      const [method, segments] = shapes[pick % shapes.length]!;
      const path = segments.map((segment, i) =>
        segment === '{a}' ? encodeURIComponent(values[i]!) : segment,
      );
      for (const end of ['', '/']) {
        const match = new Router(routes).match(method, `/${path.join('/')}${end}`);
        assert.deepEqual({ ...match.route }, { method, path: `/${segments.join('/')}` });
        assert.deepEqual(
          match.parameters,
          values.slice(0, segments.length).filter((_, i) => segments[i] === '{a}'),
        );
      }
    }),
    { numRuns: 300 },
  );
});

t.test('any path finds a route that reads the same, or none', async () => {
  const path = fc.array(fc.constantFrom('x', 'y', 'z', 'feed.xml', ''), { maxLength: 5 });
  fc.assert(
    fc.property(tables, path, fc.constantFrom(...methods), (shapes, segments, method) => {
      const routes = shapes.map(([method, segments]) => ({ method, path: `/${segments.join('/')}` }));
      const match = new Router(routes).match(method, `/${segments.join('/')}`);
      if (match.route === undefined) return;
      const values = [...match.parameters];
      const filled = match.route.path.replace(/\{a\}/g, () => values.shift()!);
      assert.equal(match.route.method, method);
      assert.equal(filled, `/${segments.join('/')}`.replace(/(.)\/$/, '$1'));
      assert.equal(values.length, 0);
    }),
    { numRuns: 300 },
  );
});

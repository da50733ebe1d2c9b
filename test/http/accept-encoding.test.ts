/** RFC 9110 §12.5.3 and §12.4.2. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import t from 'tap';
import { type Coding, preferredCoding } from '../../src/http/representation.ts';

const cases: [header: string | undefined, coding: Coding | undefined][] = [
  [undefined, undefined],
  ['', undefined],
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['GZip', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip,deflate', 'gzip'],
  ['compress, gzip', 'gzip'],
  ['deflate', undefined],
  ['*', 'br'],
  ['*;q=0', undefined],
  ['*;q=0, gzip', 'gzip'],
  ['gzip;q=0', undefined],
  ['gzip;q=0, *', 'br'],
  ['br;q=0, *', 'gzip'],
  ['br;q=0.000, gzip;q=0.001', 'gzip'],
  ['gzip;q=1.0, br;q=0.5', 'gzip'],
  ['gzip;q=0.5, br;q=0.5', 'br'],
  ['gzip;q=0.5, *;q=0.6', 'br'],
  ['gzip ; q=0.9 , br ; Q=0.8', 'gzip'],
  ['br;q=abc, gzip', 'gzip'],
  ['identity', undefined],
  ['identity;q=0', undefined],
  ['identity;q=0, gzip', 'gzip'],
  ['identity;q=1, *;q=0', undefined],
  ['identity, gzip;q=0.5', undefined],
  ['identity;q=0.5, *', 'br'],
  ['identity, gzip', 'gzip'],
  ['gzip;q=1.0, identity; q=0.5, *;q=0', 'gzip'],
  [', ,gzip,', 'gzip'],
];
for (const [header, coding] of cases) {
  t.test(`"${header}" is ${coding ?? 'identity'}`, async (t) => {
    t.equal(preferredCoding(header), coding);
    t.equal(preferredCoding(header), coding, 'the second time too');
  });
}

t.test('more values than are remembered are answered as before', async (t) => {
  for (let i = 0; i < 600; i += 1) {
    t.equal(preferredCoding(`made-up-${i}, gzip`), 'gzip');
    t.equal(preferredCoding('gzip;q=0.1, br'), 'br');
    t.equal(preferredCoding('identity'), undefined);
  }
});

t.test('made-up values fill no memory', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const bytesInUse = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = bytesInUse();
  for (let i = 0; i < 2_000; i += 1) preferredCoding(`${i} ${'x'.repeat(16 * 1024)}`);
  const grown = bytesInUse() - before;
  t.ok(grown < 10 * 1024 * 1024, `grown by ${grown} bytes`);
});

t.test('what is chosen is asked for and not refused', async () => {
  const coding = fc.constantFrom('br', 'gzip', 'identity', 'deflate', '*');
  const weights = fc.uniqueArray(fc.tuple(coding, fc.constantFrom(0, 0.001, 0.5, 1)), {
    selector: ([name]) => name,
  });
  fc.assert(
    fc.property(weights, (list) => {
      const chosen = preferredCoding(list.map(([name, q]) => `${name};q=${q}`).join(','));
      const weight = new Map<string, number>(list);
      const of = (name: string) => weight.get(name) ?? weight.get('*') ?? 0;
      const best = Math.max(of('br'), of('gzip'), weight.get('identity') ?? 0);
      return chosen === undefined
        ? best === 0 || weight.get('identity') === best
        : of(chosen) === best && best > 0;
    }),
    { numRuns: 500 },
  );
});

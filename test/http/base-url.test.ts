import fc from 'fast-check';
import t from 'tap';
import { baseUrlFromHost } from '../../src/http/exchange.ts';

const hosts: [host: string, base: string][] = [
  ['example.org', 'http://example.org'],
  ['Example.ORG:3000', 'http://example.org:3000'],
  ['note_feed:3000', 'http://note_feed:3000'],
  ['192.0.2.1', 'http://192.0.2.1'],
  ['[::1]:80', 'http://[::1]:80'],
  ['[2001:DB8::1]', 'http://[2001:db8::1]'],
  ['a', 'http://a'],
];
for (const [host, base] of hosts) {
  t.test(`the host ${host}`, async (t) => t.equal(baseUrlFromHost(host, 'http'), base));
}

t.test('the scheme is the one given', async (t) => t.equal(baseUrlFromHost('a', 'https'), 'https://a'));

const refused = [
  '',
  ' ',
  'a b',
  'a/b',
  'a/',
  'a?b',
  'a#b',
  'user@host',
  'a\\b',
  'a"b',
  "a'b",
  'a<b',
  'a&b',
  'a,b',
  'a%41',
  'a\r\nb',
  'a\n',
  'café',
  '-a',
  '.',
  ':80',
  'a:',
  'a:x',
  'a:123456',
  'a:1:2',
  '[::1',
  '::1',
  '[]',
  '[::1]x',
  // No URL can have these.
  'a:65536',
  '1.2.3.256',
  '[::::]',
  'xn--a',
  'a'.repeat(254),
];
for (const host of refused) {
  t.test(`no host: ${JSON.stringify(host.slice(0, 20))}`, async (t) => {
    t.throws(() => baseUrlFromHost(host, 'http'), { name: 'Refusal', code: 'invalid_request' });
  });
}

t.test('whatever is taken cannot break out of a link, in XML, HTML or JSON', async () => {
  const near = fc.string({
    unit: fc.constantFrom(...'aZ0.-_:[]/\\?#@%&<>"\'= \r\n\u00e9'.split('')),
    maxLength: 12,
  });
  fc.assert(
    fc.property(fc.oneof(near, fc.string(), fc.webAuthority({ withPort: true })), (host) => {
      try {
        return /^http:\/\/[a-z0-9._:[\]-]+$/.test(baseUrlFromHost(host, 'http'));
      } catch {
        return true;
      }
    }),
    { numRuns: 1000 },
  );
});

t.test('every name of a host on the net is taken', async () => {
  fc.assert(
    fc.property(fc.domain(), (name) => baseUrlFromHost(name, 'https') === `https://${name.toLowerCase()}`),
  );
});

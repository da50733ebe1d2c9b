import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { clientOfForwardedFor, clientOfSocket } from '../../src/http/client-address.ts';

const addresses: [text: string, client: string | undefined][] = [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
  ['::ffff:c000:201', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::', '2001:db8:0:0::/64'],
  ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
  ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['::192.0.2.1', '0:0:0:0::/64'],
  ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['1:2:3:4:5:6:7:8%a::b', '1:2:3:4::/64'],
  ['', undefined],
  ['unknown', undefined],
  ['192.0.2', undefined],
  ['192.0.2.256', undefined],
  ['192.0.2.01', undefined],
  ['1:2:3:4:5:6:7', undefined],
  ['1::2::3', undefined],
  ['2001:db8::/64', undefined],
];
for (const [text, client] of addresses) {
  t.test(`the address "${text}"`, async (t) => t.equal(clientOfForwardedFor(text), client));
}

const forwarded: [header: string, client: string | undefined][] = [
  ['192.0.2.1', '192.0.2.1'],
  ['203.0.113.9, 192.0.2.1', '192.0.2.1'],
  ['spoofed, 10.0.0.1,192.0.2.1 ', '192.0.2.1'],
  ['192.0.2.1:4711', '192.0.2.1'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['[2001:db8::1]', '2001:db8:0:0::/64'],
  ['[2001:db8::1]:4711', '2001:db8:0:0::/64'],
  ['192.0.2.1, unknown', undefined],
  ['192.0.2.1,', undefined],
  ['', undefined],
  ['[2001:db8::1', undefined],
  ['192.0.2.1:', undefined],
];
for (const [header, client] of forwarded) {
  t.test(`X-Forwarded-For "${header}"`, async (t) => t.equal(clientOfForwardedFor(header), client));
}

const ip = (bytes: readonly number[]) => new Uint8Array(bytes).buffer;

t.test('sockets of IPv4, IPv6 and neither', async (t) => {
  t.equal(clientOfSocket(ip([192, 0, 2, 1])), '192.0.2.1');
  t.equal(clientOfSocket(ip([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 1])), '192.0.2.1');
  t.equal(clientOfSocket(ip([0x20, 1, 0xd, 0xb8, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1])), '2001:db8:1:2::/64');
  t.equal(clientOfSocket(ip([])), 'unknown');
});

const groups = fc.tuple(
  fc.array(fc.constantFrom(0, 0xffff, 0x12), { minLength: 6, maxLength: 6 }),
  fc.array(fc.nat(0xffff), { minLength: 2, maxLength: 2 }),
);
const mapped = fc.tuple(
  fc.constant([0, 0, 0, 0, 0, 0xffff]),
  groups.map(([, low]) => low),
);

t.test('every written form of an address is the client of the socket with it', async () => {
  fc.assert(
    fc.property(fc.oneof(groups, mapped), ([high, low]) => {
      const all = [...high, ...low];
      const client = clientOfSocket(ip(all.flatMap((group) => [group >> 8, group & 255])));
      for (const text of writtenForms(all)) assert.equal(clientOfForwardedFor(text), client, text);
    }),
    { numRuns: 300 },
  );
});

t.test('addresses of one /64 are one client, of two are two', async () => {
  const half = fc.tuple(fc.integer({ min: 1, max: 0xffff }), fc.nat(0xffff), fc.nat(0xffff), fc.nat(0xffff));
  fc.assert(
    fc.property(half, half, half, (network, other, host) => {
      const client = (net: number[]) =>
        clientOfForwardedFor([...net, ...host].map((g) => g.toString(16)).join(':'));
      const sameNetwork = clientOfForwardedFor(`${network.map((group) => group.toString(16)).join(':')}::`);
      assert.equal(client(network), sameNetwork);
      assert.equal(client(network) === client(other), network.join() === other.join());
    }),
  );
});

/** RFC 5952 lists the many ways to write one address. */
function writtenForms(groups: readonly number[]): string[] {
  const hex = groups.map((group) => group.toString(16));
  const dotted = groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 255])
    .join('.');
  return [
    hex.join(':'),
    hex.join(':').toUpperCase(),
    hex.map((group) => group.padStart(4, '0')).join(':'),
    `${hex.slice(0, 6).join(':')}:${dotted}`,
    new URL(`http://[${hex.join(':')}]`).hostname.slice(1, -1),
  ];
}

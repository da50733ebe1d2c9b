/** What a license is: its form, its signature, its dates. */
import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { newKeyPair, parsePublicKeys, privateKeyIn, publicKeyOf } from '../../src/licenses/keys.ts';
import { endOf, issueLicense, Licenses, licenseId } from '../../src/licenses/licenses.ts';
import { Refusal } from '../../src/refusals.ts';
import { ISSUER, licenseFor, PUBLIC_KEY } from '../support/licenses.ts';

let now = Date.parse('2027-06-15T12:00:00Z');
const licenses = new Licenses([PUBLIC_KEY], () => now);
const base64url = (value: string | Uint8Array) => Buffer.from(value).toString('base64url');

/** A license that says anything, signed as it should be. */
function signed(payload: unknown, prefix = 'nf1'): string {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const first = `${prefix}.${base64url(text)}`;
  return `${first}.${base64url(sign(null, Buffer.from(first), ISSUER))}`;
}

const good = licenseFor({ id: 'abc', until: '2027-12-31', feeds: 3 });
const [prefix, payload, signature] = good.split('.') as [string, string, string];
/** The same bytes of the signature, as another text: the last character has bits that say nothing. */
const otherEnd = String.fromCharCode(signature.charCodeAt(signature.length - 1) + 1);

t.test('a license says who it is, until when, and for how many feeds', async (t) => {
  t.match(good, /^nf1\.[\w-]+\.[\w-]{86}$/);
  t.same(licenses.check(good), { id: 'abc', until: '2027-12-31', feeds: 3 });
  t.match(licenses.check(licenseFor({ until: '2027-12-31' })), { id: /^[\w-]{22}$/, feeds: 1 });
  t.same(licenses.check(signed({ id: 'x', until: '2027-12-31', more: true })).feeds, 1);
  t.equal(licenseId(good), 'abc');
  t.equal(licenseId('x'), undefined);
});

const MALFORMED: Record<string, readonly [string, RegExp]> = {
  'an empty text': ['', /begin with "nf1/],
  'another version': [signed({ id: 'x', until: '2027-12-31' }, 'nf2'), /begin with "nf1/],
  'no signature': [`${prefix}.${payload}`, /three parts/],
  'a part more': [`${good}.x`, /three parts/],
  'an end that is cut off': [good.slice(0, -1), /cut off/],
  'a signature that is cut off': [good.slice(0, -4), /cut off/],
  'an empty signature': [`${prefix}.${payload}.`, /signature is cut off/],
  'another end of the signature': [good.slice(0, -1) + otherEnd, /not written as it was issued/],
  padding: [`${prefix}.${payload}.${signature}==`, /not written as it was issued/],
  'the other alphabet': [
    `${good.replaceAll('-', '+').replaceAll('_', '/')} `,
    /not written as it was issued/,
  ],
  'a line break in it': [`${prefix}.${payload}.\n${signature}`, /not written as it was issued/],
  'too long a text': [`${good}${'A'.repeat(2000)}`, /too long/],
  'another signature': [
    `${prefix}.${payload}.${base64url(new Uint8Array(64))}`,
    /not signed by the issuer of this instance/,
  ],
  'a payload that was changed': [
    `${prefix}.${base64url('{"id":"abc","until":"2099-12-31"}')}.${signature}`,
    /not signed/,
  ],
  'the same payload written otherwise': [
    `${prefix}.${base64url(`${Buffer.from(payload, 'base64url')} `)}.${signature}`,
    /not signed/,
  ],
  "another issuer's": [
    issueLicense(privateKeyIn(newKeyPair().privateKey)!, { until: '2027-12-31' }),
    /not signed by the issuer/,
  ],
  'what is no JSON': [signed('{"id"'), /cannot be read/],
  'what is no object': [signed('null'), /cannot be read/],
  'an array': [signed('[]'), /id must be/],
  'no id': [signed({ until: '2027-12-31' }), /id must be/],
  'an id of other characters': [signed({ id: 'a b', until: '2027-12-31' }), /id must be/],
  'too long an id': [signed({ id: 'a'.repeat(65), until: '2027-12-31' }), /id must be/],
  'no date': [signed({ id: 'x' }), /no date/],
  'a date that is none': [signed({ id: 'x', until: '2027-02-29' }), /no date/],
  'a month that is none': [signed({ id: 'x', until: '2027-13-01' }), /no date/],
  'a date with a time': [signed({ id: 'x', until: '2027-12-31T00:00:00Z' }), /no date/],
  'a date as a number': [signed({ id: 'x', until: 20271231 }), /no date/],
  'a license that is over': [licenseFor({ until: '2027-06-14' }), /ended on 2027-06-14/],
  ...Object.fromEntries(
    [0, -1, 1.5, 1001, 1e9, '3', null].map((feeds) => [
      `feeds of ${JSON.stringify(feeds)}`,
      [signed({ id: 'x', until: '2027-12-31', feeds }), /must be 1 to 1000/] as const,
    ]),
  ),
};

for (const [what, [text, message]] of Object.entries(MALFORMED))
  t.test(`refused: ${what}`, async (t) => {
    t.throws(() => licenses.check(text), { code: 'invalid_license', status: 400, message });
    t.equal(licenses.isValid(text), false);
  });

t.test('whatever is sent, it is refused as a license is', async () => {
  const mutated = fc
    .tuple(fc.constantFrom(good, payload, signed({ id: 'x' })), fc.nat(200), fc.string({ maxLength: 5 }))
    .map(([text, at, put]) => text.slice(0, at) + put + text.slice(at + put.length));
  const texts = fc.oneof(mutated, fc.string(), fc.string({ unit: 'binary', maxLength: 2000 }));
  fc.assert(
    fc.property(texts, (text) => {
      if (text === good) return true;
      try {
        licenses.check(text);
        return false;
      } catch (error) {
        return error instanceof Refusal && error.code === 'invalid_license';
      }
    }),
  );
});

t.test('a license counts until the end of its last day in UTC', async (t) => {
  const license = licenseFor({ until: '2027-06-15' });
  t.equal(endOf({ until: '2027-06-15' }), Date.parse('2027-06-16'));
  now = Date.parse('2027-06-15T23:59:59.999Z');
  t.equal(licenses.isValid(license), true);
  now += 1;
  t.equal(licenses.isValid(license), false);
  t.throws(() => licenses.check(license), { code: 'invalid_license' });
  t.match(licenses.find(license), { until: '2027-06-15' }, 'what it said is still known');
});

t.test('several keys count, each as PEM or base64', async (t) => {
  const [first, second] = [newKeyPair(), newKeyPair()];
  const pem = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string;
  const base64 = Buffer.from(first.publicKey, 'base64url').toString('base64');
  const keys = parsePublicKeys(`${base64}, ${second.publicKey} ,${pem},${first.publicKey}`)!;
  t.equal(keys.length, 3);
  const both = new Licenses(keys);
  for (const { privateKey, publicKey } of [first, second]) {
    const key = privateKeyIn(privateKey)!;
    t.equal(publicKeyOf(key), publicKey);
    t.equal(both.isValid(issueLicense(key, { until: '9998-01-01' })), true);
  }
  t.equal(both.isValid(licenseFor()), false);
  t.equal(parsePublicKeys('x'), undefined);
});

t.test('nothing is issued that would not count', async (t) => {
  for (const said of [
    { until: '2027-02-30' },
    { until: '2027-12-31', feeds: 1001 },
    { until: '2027-12-31', feeds: 0 },
  ])
    t.throws(() => licenseFor(said), { code: 'invalid_license' });
});

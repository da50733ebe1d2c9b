/** What is signed counts for one purpose, about one thing, and until what voids it changes. */
import t from 'tap';
import { readCookie, Unlocks } from '../src/access/cookies.ts';
import type { FeedName } from '../src/feeds/names.ts';
import { keyFor, sign, verify } from '../src/signed.ts';

const SECRET = Buffer.from('a secret of at least thirty-two bytes');
const key = keyFor('session', SECRET, ['a', 'b']);

t.test('a key depends on all that it is derived from', async (t) => {
  const same = keyFor('session', SECRET, ['a', 'b']);
  t.same(same, key);
  for (const other of [
    keyFor('unlock', SECRET, ['a', 'b']),
    keyFor('session', Buffer.from('another'), ['a', 'b']),
    keyFor('session', SECRET, ['a']),
    keyFor('session', SECRET, ['ab']),
    keyFor('session', SECRET, ['b', 'a']),
    keyFor('session', SECRET),
  ])
    t.not(Buffer.from(other).toString('hex'), Buffer.from(key).toString('hex'));
});

t.test('a value is what was signed, about the same', async (t) => {
  for (const text of ['', 'text', '{"sender":"Zoë"}', 'a.b']) {
    const value = sign(key, text, 'this');
    t.match(value, /^[\w-]*\.[\w-]{43}$/);
    t.equal(verify(key, value, 'this'), text);
    t.equal(verify(key, value, 'that'), undefined);
    t.equal(verify(key, value), undefined);
    t.equal(verify(keyFor('session', SECRET), value, 'this'), undefined);
    for (let i = 0; i < value.length; i += 1) {
      const other = value[i] === 'A' ? 'B' : 'A';
      // The last letters of base64url have bits that say nothing.
      const changed = value.slice(0, i) + other + value.slice(i + 1);
      t.ok([undefined, text].includes(verify(key, changed, 'this')));
    }
  }
});

t.test('an unlock cookie is for one feed, also where two have the same stored password', async (t) => {
  let now = 0;
  const unlocks = new Unlocks(SECRET, () => now);
  const feed = { name: 'otter' as FeedName, passwordHash: 'the same hash' };
  const [cookie = '', ...others] = unlocks.cookies(feed, { root: '', isSecure: false });
  t.equal(others.length, 1);
  const value = readCookie(cookie.split(';')[0], 'unlock');
  t.ok(unlocks.opens(value, feed));
  t.notOk(unlocks.opens(value, { ...feed, name: 'stoat' as FeedName }));
  t.notOk(unlocks.opens(value, { ...feed, passwordHash: 'another hash' }));
  now = 365 * 24 * 60 * 60 * 1000;
  t.notOk(unlocks.opens(value, feed), 'a year later');
});

t.test('a cookie among others', async (t) => {
  for (const header of ['a=1', ' a=1', 'b=2; a=1', 'b=2;a=1 ;c', 'xa=2; a=1; a=3', '=; ; a=1'])
    t.equal(readCookie(header, 'a'), '1', header);
  for (const header of [undefined, '', 'a', 'A=1', 'b=a=1', 'b="; a'])
    t.equal(readCookie(header, 'a'), undefined, `${header}`);
});

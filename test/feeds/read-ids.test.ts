import t from 'tap';
import { derivedReadId, randomReadId } from '../../src/feeds/ids.ts';
import { type FeedName, isReadId } from '../../src/feeds/names.ts';

t.test('a random read id is new each time', async (t) => {
  const made = Array.from({ length: 1000 }, randomReadId);
  t.equal(new Set(made).size, 1000);
  t.ok(made.every((id) => id.length === 22 && isReadId(id)));
});

t.test('a derived read id follows from the secret and the name', async (t) => {
  const secret = Buffer.alloc(32, 1);
  const other = Buffer.alloc(32, 2);
  // printf 'read-id:garden' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0101… -binary | base64
  t.equal(derivedReadId(secret, 'garden' as FeedName), 'ReN7oGl8iO7hw6xZs_GVmy');
  t.not(derivedReadId(secret, 'garden2' as FeedName), derivedReadId(secret, 'garden' as FeedName));
  t.not(derivedReadId(other, 'garden' as FeedName), derivedReadId(secret, 'garden' as FeedName));
});

import { inspect } from 'node:util';
import t from 'tap';
import { PasswordRenewal } from '../../src/access/passwords.ts';
import type { Feed } from '../../src/feeds/feed.ts';
import { Refusal } from '../../src/refusals.ts';
import type { SetPassword } from '../../src/writing/command.ts';

const OLD = 'scrypt$ of right';

function feed(passwordHash: string | undefined, key = '1'): Feed {
  return { key, name: 'secret-name', passwordHash } as Feed;
}

/** Renewal that hashes at once, with what it stored and logged. */
function create(set: () => Promise<unknown> = async () => undefined) {
  const stored: unknown[] = [];
  const lines: unknown[] = [];
  let hashed = 0;
  const renewal = new PasswordRenewal({
    storage: {
      write: async (command) => {
        const { target, passwordHash } = command as SetPassword;
        stored.push([target.key, target.passwordHash, passwordHash]);
        await set();
        return undefined;
      },
    },
    passwords: {
      hash: async (password) => {
        hashed += 1;
        return `$argon2id$ of ${password}`;
      },
      verify: async (passwordHash, password) => passwordHash.endsWith(` of ${password}`),
    },
    log: { warn: (...line) => lines.push(line) },
  });
  return { renewal, stored, lines, hashed: () => hashed };
}

t.test('stores a right password once for all who ask at the same time', async (t) => {
  const { renewal, stored, hashed } = create();
  const asked = Array.from({ length: 10 }, () => renewal.renew(feed(OLD), 'right'));
  t.same(new Set(await Promise.all(asked)), new Set([true]));
  t.same(stored, [['1', OLD, '$argon2id$ of right']]);
  t.equal(hashed(), 1);
  t.equal(await renewal.renew(feed(OLD), 'right'), true, 'who had the feed as it was looks again');
});

t.test('leaves alone what is no other form, or not known to be right', async (t) => {
  const { renewal, stored, hashed } = create();
  for (const one of [
    feed(undefined),
    feed('$argon2id$ of right'),
    feed('$argon2i$ of right'),
    feed('! of other'),
  ])
    t.equal(await renewal.renew(one, 'right'), false);
  t.equal(await renewal.renew(feed(OLD), 'wrong'), false);
  t.same([stored, hashed()], [[], 0]);
});

t.test('a feed whose password was changed meanwhile is looked up again', async (t) => {
  const { renewal, lines } = create(async () => false);
  t.equal(await renewal.renew(feed(OLD), 'right'), true);
  t.same(lines, []);
});

t.test('a failure fails nobody, and is told once without its cause', async (t) => {
  const fail = new Refusal('storage_full', 'The disk is full.', { cause: new Error('/data/secret-name') });
  const { renewal, stored, lines } = create(async () => {
    throw fail;
  });
  t.same(await Promise.all([renewal.renew(feed(OLD), 'right'), renewal.renew(feed(OLD), 'right')]), [
    true,
    true,
  ]);
  t.equal(await renewal.renew(feed(OLD), 'right'), false, 'the feed in hand stays as it is');
  t.match(lines, [[String, { code: 'storage_full' }]]);
  t.notMatch(inspect(lines, { depth: null }), /\/data/);
  t.equal(stored.length, 1);
  await renewal.renew(feed(OLD, '2'), 'right');
  t.equal(stored.length, 2, 'of another feed it is tried');
});

t.test('a moment without room for the work keeps no password in its old form', async (t) => {
  let isBusy = true;
  const { renewal, stored, lines } = create(async () => {
    if (isBusy) throw new Refusal('busy', 'Too much to do.');
  });
  await renewal.renew(feed(OLD), 'right');
  isBusy = false;
  t.equal(await renewal.renew(feed(OLD), 'right'), true);
  t.same([stored.length, lines], [2, []]);
});

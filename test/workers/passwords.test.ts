import { type Algorithm, hashSync } from '@node-rs/argon2';
import t from 'tap';
import hashPassword from '../../workers/hash-password.ts';
import verifyPassword from '../../workers/verify-password.ts';

const STORED = hashPassword('correct horse');
const ARGON2D: Algorithm.Argon2d = 0;

t.test('a password is stored as argon2id of 19 MiB and two passes, with a salt of its own', async (t) => {
  t.match(STORED, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  t.not(hashPassword('correct horse'), STORED);
});

t.test('only the password itself is right', async (t) => {
  t.equal(verifyPassword({ passwordHash: STORED, password: 'correct horse' }), true);
  for (const password of ['', 'correct hors', 'correct horse ', 'Correct horse', 'correct horse\0'])
    t.equal(verifyPassword({ passwordHash: STORED, password }), false);
});

t.test('what was stored with other costs is still right', async (t) => {
  const stronger = hashSync('x', { memoryCost: 65_536, timeCost: 3, parallelism: 4 });
  t.equal(verifyPassword({ passwordHash: stronger, password: 'x' }), true);
  const other = hashSync('x', { algorithm: ARGON2D, memoryCost: 64 });
  t.equal(verifyPassword({ passwordHash: other, password: 'x' }), true);
});

const cut = STORED.slice(0, -3);
const malformed = ['', 'correct horse', '$argon2id$', '$2b$10$abcdef', cut, ` ${STORED}`, `${STORED}\n`];
for (const passwordHash of malformed) {
  t.test(`nothing matches a malformed form: ${JSON.stringify(passwordHash.slice(0, 12))}`, async (t) => {
    for (const password of ['correct horse', '', passwordHash])
      t.equal(verifyPassword({ passwordHash, password }), false);
  });
}

t.test('a form that asks for too much memory or time matches nothing, and is not tried', async (t) => {
  const weak = { memoryCost: 8, timeCost: 11, parallelism: 1 };
  t.equal(verifyPassword({ passwordHash: hashSync('x', weak), password: 'x' }), false);
  const allowed = hashSync('x', { ...weak, timeCost: 10 });
  t.equal(verifyPassword({ passwordHash: allowed, password: 'x' }), true);
  const large = hashSync('x', { memoryCost: 256 * 1024 + 8, timeCost: 1, parallelism: 1 });
  t.equal(verifyPassword({ passwordHash: large, password: 'x' }), false);
  const all = STORED.replace('m=19456,t=2', 'm=4294967295,t=4294967295');
  t.equal(verifyPassword({ passwordHash: all, password: 'correct horse' }), false);
});

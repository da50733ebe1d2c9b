import { scryptSync } from 'node:crypto';
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

/** The form in which another service stores a password. */
function scryptForm({ N = 1024, r = 8, p = 1, salt = 16, hash = 32, password = 'x' } = {}): string {
  const saltBytes = Buffer.alloc(salt, 7);
  const key = scryptSync(password, saltBytes, hash, { N, r, p, maxmem: 2 ** 30 });
  return ['scrypt', N, r, p, saltBytes.toString('base64'), key.toString('base64')].join('$');
}

t.test('what was stored with scrypt is still right, whatever its costs and lengths', async (t) => {
  for (const costs of [
    {},
    { N: 16384 },
    { N: 2, r: 1 },
    { p: 5 },
    { salt: 8, hash: 16 },
    { salt: 64, hash: 128 },
  ]) {
    const passwordHash = scryptForm({ ...costs, password: 'correct horse' });
    t.equal(verifyPassword({ passwordHash, password: 'correct horse' }), true, passwordHash);
    t.equal(
      verifyPassword({ passwordHash: passwordHash.replace(/=/g, ''), password: 'correct horse' }),
      true,
    );
    for (const password of ['', 'correct hors', 'Correct horse', passwordHash])
      t.equal(verifyPassword({ passwordHash, password }), false);
  }
  const most = scryptForm({ N: 2 ** 18, r: 8 });
  t.equal(verifyPassword({ passwordHash: most, password: 'x' }), true, 'with 256 MiB');
});

t.test('nothing matches a form of scrypt that is malformed or too expensive', async (t) => {
  const right = scryptForm();
  const [, , , , salt, hash] = right.split('$');
  const withCosts = (costs: string) => `scrypt$${costs}$${salt}$${hash}`;
  t.equal(verifyPassword({ passwordHash: withCosts('1024$8$1'), password: 'x' }), true);
  for (const passwordHash of [
    'scrypt$',
    'scrypt$1024$8$1$$',
    right.slice(0, -30),
    `${right}$`,
    `${right}\n`,
    right.replace('scrypt', 'Scrypt'),
    right.replace(/\$[^$]*$/, `$${'*'.repeat(44)}`),
    ...[
      '0$8$1',
      '1$8$1',
      '1000$8$1',
      '1024$0$1',
      '1024$8$0',
      '-1024$8$1',
      '1024.5$8$1',
      '1e3$8$1',
      '65536$1$1',
    ].map(withCosts),
    ...['524288$8$1', '262144$8$2', '1024$99$99', '9999999$99$99', '4294967296$8$1'].map(withCosts),
    scryptForm({ salt: 7 }),
    scryptForm({ salt: 65 }),
    scryptForm({ hash: 15 }),
    scryptForm({ hash: 129 }),
  ])
    t.equal(verifyPassword({ passwordHash, password: 'x' }), false, passwordHash);
});

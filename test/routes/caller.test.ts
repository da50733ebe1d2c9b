import t from 'tap';
import type { Exchange } from '../../src/http/exchange.ts';
import { callerOf } from '../../src/routes/caller.ts';

const bearerOf = (authorization: string | undefined) => {
  const header = (name: string) => (name === 'authorization' ? authorization : undefined);
  return callerOf({ header } as Exchange, undefined, () => true).bearer;
};

for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer  ']) {
  t.test(`${scheme} brings a token`, async (t) => {
    t.equal(bearerOf(`${scheme} instance word`), 'instance word');
  });
}

t.test('a line separator is part of a token, wherever it is', async (t) => {
  t.equal(bearerOf(`Bearer${' '.repeat(16_000)}\u2028`), '\u2028');
});

t.test('a feed password that cannot be read is refused only when it is asked for', async (t) => {
  const header = (name: string) => {
    if (name === 'x-feed-password') throw new Error('not valid UTF-8');
    return undefined;
  };
  const caller = callerOf({ header } as unknown as Exchange, undefined, () => true);
  t.equal(caller.bearer, undefined);
  t.throws(() => caller.feedPassword, /UTF-8/);
});

const without = [
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'instance word',
  'Basic instance word',
  'xBearer instance word',
];
for (const authorization of without) {
  t.test(`no token: ${authorization}`, async (t) => {
    t.equal(bearerOf(authorization), undefined);
  });
}

import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { Access, type Caller } from '../../src/access/access.ts';
import { Sessions, Unlocks } from '../../src/access/cookies.ts';
import type { Feed } from '../../src/feeds/feed.ts';
import type { FeedName } from '../../src/feeds/names.ts';

const NAME = 'otter' as FeedName;
const PROTECTED = { name: NAME, passwordHash: 'hash of right' };
const OPEN = { name: NAME, passwordHash: undefined };
const SECRET = Buffer.alloc(32);
type Parts = ConstructorParameters<typeof Access>[0];
const FEEDS = [PROTECTED, OPEN, undefined];
const AUTH = { name: 'Refusal', code: 'auth', status: 401 };
const tooMany = (seconds: number) => ({
  code: 'too_many_attempts',
  status: 429,
  headers: { 'Retry-After': String(seconds) },
});

interface Options {
  password?: string;
  metricsToken?: string;
  operatorToken?: string;
  rateLimit?: number;
}

/** What is asked of feeds in hand looks up no names. */
const NO_NAMES = {
  storage: {
    feed: async () => undefined,
    feedToPost: async () => undefined,
    records: { find: async () => [] },
  },
  renewal: { renew: async () => false },
  reservedFeeds: new Set<string>(),
  reservedPassword: undefined,
  unlocks: new Unlocks(SECRET),
};

const sessionsOf = (password: string | undefined) =>
  password === undefined ? undefined : new Sessions({ secret: SECRET, voidedBy: [password] });

/** Access with a clock that stands still until it is moved, and passwords that are told apart at once. */
function create({ rateLimit = 3, ...secrets }: Options = {}, more: Partial<Parts> = {}) {
  let time = 0;
  const verified: string[] = [];
  const passwords = {
    async verify(passwordHash: string, sent: string): Promise<boolean> {
      verified.push(sent);
      return passwordHash === `hash of ${sent}`;
    },
  };
  return {
    access: new Access({
      ...NO_NAMES,
      ...secrets,
      password: secrets.password,
      sessions: sessionsOf(secrets.password),
      rateLimit,
      passwords,
      now: () => time,
      ...more,
    }),
    verified,
    pass(ms: number): void {
      time += ms;
    },
  };
}

/** A request that sends what is given. */
function caller(sent: { bearer?: string; feed?: string; client?: string } = {}): Caller {
  return {
    client: sent.client ?? '192.0.2.1',
    requestId: 'a request',
    bearer: sent.bearer,
    session: undefined,
    feedPassword: sent.feed,
    unlock: undefined,
    sender: undefined,
    isAborted: false,
  };
}

const bearer = (token: string, client?: string) =>
  caller({ bearer: token, ...(client !== undefined && { client }) });

t.test('an open instance asks nobody', async (t) => {
  const { access } = create();
  for (const who of [caller(), bearer('anything')]) t.doesNotThrow(() => access.requireInstance(who));
});

t.test('a locked instance lets in who has its password', async (t) => {
  const { access } = create({ password: 'instance word' });
  t.doesNotThrow(() => access.requireInstance(bearer('instance word')));
});

t.test('a wrong instance password of any length is refused', async (t) => {
  const { access } = create({ password: 'instance word', rateLimit: 0 });
  for (const token of [
    'x',
    'instance wor',
    'instance word ',
    'instance wordy',
    'Instance word',
    'y'.repeat(9000),
  ])
    t.throws(() => access.requireInstance(bearer(token)), { ...AUTH, message: /not the password/ });
});

t.test('a missing instance password is refused and not counted', async (t) => {
  const { access } = create({ password: 'instance word', rateLimit: 1 });
  for (let i = 0; i < 5; i += 1)
    t.throws(() => access.requireInstance(caller()), { ...AUTH, message: /has a password/ });
  t.doesNotThrow(() => access.requireInstance(bearer('instance word')));
});

t.test('after too many wrong instance passwords the right one waits, of this client only', async (t) => {
  const { access, pass } = create({ password: 'instance word' });
  for (let i = 0; i < 3; i += 1) t.throws(() => access.requireInstance(bearer('wrong')), AUTH);
  pass(20_000);
  t.throws(() => access.requireInstance(bearer('instance word')), tooMany(40));
  t.throws(() => access.requireInstance(bearer('wrong')), tooMany(40));
  t.throws(() => access.requireInstance(caller()), AUTH);
  t.doesNotThrow(() => access.requireInstance(bearer('instance word', '192.0.2.2')));
  pass(40_000);
  t.doesNotThrow(() => access.requireInstance(bearer('instance word')));
});

t.test('right passwords are never counted', async (t) => {
  const { access } = create({ password: 'instance word', rateLimit: 1 });
  for (let i = 0; i < 5; i += 1) {
    access.requireInstance(bearer('instance word'));
    await access.requireFeedPassword(caller({ feed: 'right' }), PROTECTED);
  }
  t.throws(() => access.requireInstance(bearer('wrong')), AUTH);
  t.throws(() => access.requireInstance(bearer('instance word')), tooMany(60));
});

t.test('a protected feed opens for its password', async (t) => {
  const { access, verified } = create();
  await access.requireFeedPassword(caller({ feed: 'right' }), PROTECTED);
  await t.rejects(access.requireFeedPassword(caller({ feed: 'wrong' }), PROTECTED), {
    ...AUTH,
    message: /not the password/,
  });
  t.same(verified, ['right', 'wrong']);
});

t.test('who waited while a hash was renewed does not get into a feed with another password', async (t) => {
  const feeds = [PROTECTED, { ...PROTECTED, passwordHash: 'hash of another' }] as Feed[];
  const storage = { ...NO_NAMES.storage, feed: async () => feeds.shift() };
  const { access } = create({}, { storage, renewal: { renew: async () => true } });
  await t.rejects(access.namedFeed(caller({ feed: 'right' }), NAME), AUTH);
});

t.test('a missing feed password is refused, not counted and not checked', async (t) => {
  const { access, verified } = create({ rateLimit: 1 });
  for (let i = 0; i < 5; i += 1)
    await t.rejects(access.requireFeedPassword(caller(), PROTECTED), { ...AUTH, message: /has a password/ });
  t.same(verified, []);
  await access.requireFeedPassword(caller({ feed: 'right' }), PROTECTED);
});

t.test('a feed without a password, and none at all, ask for nothing', async (t) => {
  const { access, verified } = create({ rateLimit: 1 });
  for (const feed of [OPEN, undefined]) {
    await access.requireFeedPassword(caller(), feed);
    await access.requireFeedPassword(caller({ feed: 'any' }), feed);
    await access.requireFeedPassword(caller({ feed: 'other' }), feed);
  }
  t.same(verified, []);
});

t.test('a password that no feed can have is refused alike whatever the feed, and not counted', async (t) => {
  const { access, verified } = create({ rateLimit: 1 });
  for (const password of ['', ' ', 'caf\u00e9', 'p'.repeat(257)]) {
    const messages = new Set<string>();
    for (const feed of FEEDS) {
      const refusal = await access
        .requireFeedPassword(caller({ feed: password }), feed)
        .catch((cause) => cause);
      t.match(refusal, { code: 'invalid_request', status: 400 });
      messages.add(refusal.message);
    }
    t.equal(messages.size, 1);
  }
  t.same(verified, []);
  await access.requireFeedPassword(caller({ feed: 'right' }), PROTECTED);
});

t.test('over the limit no feed password is checked any more, the right one waits', async (t) => {
  const { access, verified, pass } = create();
  for (const feed of ['a', 'b', 'c'])
    await t.rejects(access.requireFeedPassword(caller({ feed }), PROTECTED), AUTH);
  pass(59_001);
  await t.rejects(access.requireFeedPassword(caller({ feed: 'right' }), PROTECTED), tooMany(1));
  await t.rejects(access.requireFeedPassword(caller({ feed: 'd' }), PROTECTED), tooMany(1));
  await t.rejects(access.requireFeedPassword(caller(), PROTECTED), AUTH);
  t.same(verified, ['a', 'b', 'c']);
  await access.requireFeedPassword(caller({ feed: 'right', client: '192.0.2.2' }), PROTECTED);
  await access.requireFeedPassword(caller(), OPEN);
  pass(999);
  await access.requireFeedPassword(caller({ feed: 'right' }), PROTECTED);
});

t.test('wrong passwords of the instance and of feeds count together', async (t) => {
  const { access } = create({ password: 'instance word', rateLimit: 2 });
  t.throws(() => access.requireInstance(bearer('wrong')), AUTH);
  await t.rejects(access.requireFeedPassword(caller({ feed: 'wrong' }), PROTECTED), AUTH);
  t.throws(() => access.requireInstance(bearer('instance word')), tooMany(60));
  await t.rejects(access.requireFeedPassword(caller({ feed: 'right' }), PROTECTED), tooMany(60));
});

t.test('wrong passwords, operator tokens and metrics tokens count each by themselves', async (t) => {
  const secrets = { password: 'instance word', metricsToken: 'metrics word', operatorToken: 'operator word' };
  const asks: readonly (readonly [right: string, ask: (access: Access, who: Caller) => unknown])[] = [
    [secrets.password, (access, who) => access.requireInstance(who)],
    [secrets.metricsToken, (access, who) => access.requireMetricsToken(who)],
    [secrets.operatorToken, (access, who) => access.requireOperator(who)],
  ];
  for (const [guessed, guess] of asks) {
    const { access } = create({ ...secrets, rateLimit: 1 });
    t.throws(() => guess(access, bearer('wrong')), AUTH);
    for (const [right, ask] of asks)
      if (right === guessed) t.throws(() => ask(access, bearer(right)), tooMany(60));
      else t.doesNotThrow(() => ask(access, bearer(right)), `${right}, after a guess at ${guessed}`);
  }
});

t.test('passwords tried at once learn no more than one after the other, the right one last', async (t) => {
  const { access } = create({ rateLimit: 3 });
  const guesses = [...Array.from({ length: 20 }, (_, i) => `guess ${i}`), 'right'];
  const asked = guesses.map((feed) => access.requireFeedPassword(caller({ feed }), PROTECTED));
  const results = await Promise.allSettled(asked);
  const codes = results.map((result) => (result.status === 'rejected' ? result.reason.code : 'let in'));
  t.equal(codes.filter((code) => code === 'auth').length, 3);
  t.equal(codes.filter((code) => code === 'too_many_attempts').length, 18);
});

t.test('what fails while a password is checked is passed on and not counted', async (t) => {
  const passwords = {
    async verify(): Promise<boolean> {
      throw new Error('busy');
    },
  };
  const access = new Access({
    ...NO_NAMES,
    password: 'instance word',
    sessions: sessionsOf('instance word'),
    rateLimit: 1,
    passwords,
    now: () => 0,
  });
  await t.rejects(access.requireFeedPassword(caller({ feed: 'wrong' }), PROTECTED), { message: 'busy' });
  t.doesNotThrow(() => access.requireInstance(bearer('instance word')));
});

t.test('writes have a limit of their own', async (t) => {
  const { access, pass } = create({ rateLimit: 2 });
  access.writes.count(caller().client);
  pass(10_000);
  access.writes.count(caller().client);
  const refused = { code: 'rate_limited', status: 429, headers: { 'Retry-After': '50' } };
  t.throws(() => access.writes.count(caller().client), refused);
  t.doesNotThrow(() => access.writes.count(caller({ client: '192.0.2.2' }).client));
  await access.requireFeedPassword(caller({ feed: 'right' }), PROTECTED);
  pass(50_000);
  t.doesNotThrow(() => access.writes.count(caller().client));
});

t.test('previews and reports have limits of their own', async (t) => {
  const { access, pass } = create({ rateLimit: 1 });
  const { client } = caller();
  const refused = (seconds: number) => ({
    code: 'rate_limited',
    headers: { 'Retry-After': String(seconds) },
  });
  for (let i = 0; i < 240; i += 1) access.previews.count(client);
  t.throws(() => access.previews.count(client), refused(60));
  for (let i = 0; i < 5; i += 1) access.reports.count(client);
  t.throws(() => access.reports.count(client), refused(3600));
  t.doesNotThrow(() => access.writes.count(client));
  pass(60_000);
  t.doesNotThrow(() => access.previews.count(client));
  t.throws(() => access.reports.count(client), refused(3540));
  pass(3_540_000);
  t.doesNotThrow(() => access.reports.count(client));
});

t.test('0 turns all limits off', async (t) => {
  const { access } = create({ password: 'instance word', rateLimit: 0 });
  for (let i = 0; i < 1_000; i += 1) {
    for (const limit of [access.writes, access.previews, access.reports]) limit.count(caller().client);
    t.throws(() => access.requireInstance(bearer('wrong')), AUTH);
  }
  t.doesNotThrow(() => access.requireInstance(bearer('instance word')));
});

t.test('no sentence repeats what was sent', async () => {
  const said = (refused: unknown) => (refused as Error | undefined)?.message ?? '';
  await fc.assert(
    fc.asyncProperty(fc.string({ minLength: 8, unit: 'binary' }), async (sent) => {
      const { access } = create({ password: 'instance word', rateLimit: 1 });
      for (let i = 0; i < 2; i += 1) {
        try {
          access.requireInstance(bearer(sent));
        } catch (refused) {
          assert.ok(!said(refused).includes(sent));
        }
        const refused = await access
          .requireFeedPassword(caller({ feed: sent }), PROTECTED)
          .catch((cause) => cause);
        assert.ok(!said(refused).includes(sent));
      }
    }),
  );
});

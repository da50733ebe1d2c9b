/** Texts that take long to read hold up nobody but their own senders, are refused, and leave nothing behind. */
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { exactly } from '../support/exact-request.ts';
import { FeedClient } from '../support/feed-client.ts';
import { FORM_TYPE, field, file, formBody, type SentPart } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { contents, refusesAll } from '../support/refused.ts';
import { untilItRenders } from '../support/rendering.ts';
import { type Reply, start } from '../support/service.ts';

t.setTimeout(600_000);

const LIMIT_MS = 1_000;
/** Slow texts that one client sends at once: one at a time they take 8 s. */
const CROWD = 8;

const PNG = file('file', 'a.png', 'image/png', picture('png'));
const form = (text: string): SentPart[] => [field('text', text), PNG];

/** Each takes the parser several seconds at least. */
const HOSTILE: Record<string, string> = {
  'emphasis of two kinds': '*a_'.repeat(10_000),
  'quotes in quotes on one line': '>'.repeat(102_000),
  'lists in lists on one line': `${'- '.repeat(34_000)}a`,
  'links that never end': '[a]('.repeat(25_000),
  'images in images': `${'!['.repeat(9_000)}a${'](a.png)'.repeat(9_000)}`,
};
const SLOW = HOSTILE['emphasis of two kinds']!;

const service = await start(t, { SERVICE_PARSE_TIMEOUT_MS: String(LIMIT_MS), SERVICE_TRUST_PROXY: '1' });
const { url } = service;

/** A feed as one client writes to it. */
function feed(name: string, client = '192.0.2.1'): FeedClient {
  return new FeedClient(url, name, { 'x-forwarded-for': client });
}

/** Slow forms of one client, and how many of them have been answered. */
class Crowd {
  answered = 0;
  readonly replies: Promise<Reply[]>;
  /** Settles when the first is answered: then all have arrived. */
  readonly first: Promise<Reply>;

  constructor(client: FeedClient, count: number) {
    const replies = Array.from({ length: count }, async () => {
      const reply = await client.postForm(form(SLOW));
      this.answered += 1;
      return reply;
    });
    this.replies = Promise.all(replies);
    this.first = Promise.race(replies);
  }
}

/** Posts a form that takes no time to read; again where it took too much all the same, as on a busy machine. */
async function postGood(client: FeedClient, text: string): Promise<Reply> {
  let reply = await client.postForm(form(text));
  await eventually(async () => {
    const tookTooLong = reply.status === 400 && /takes longer than \d+ ms/.test(reply.json.error);
    if (tookTooLong) reply = await client.postForm(form(text));
    return !tookTooLong;
  });
  return reply;
}

/** Has every thread do something: the first time takes longest. */
async function warmUp(client: FeedClient): Promise<void> {
  for (let i = 0; i < 8; i++) await postGood(client, `*warm* ${i}`);
  await client.post(picture('png', 70_000), { 'content-type': 'image/png' });
  await untilItRenders(url);
}

await warmUp(feed('warm'));

t.test('a text that takes too long is refused, and nothing is left of it', async (t) => {
  const { id } = (await postGood(feed('ferret'), 'before')).json;
  const views = [{ path: '/api/v1/feeds/ferret/notes' }];
  const targets = [
    ['POST', '/ferret'],
    ['POST', '/api/v1/feeds/ferret-new/notes'],
    ['PUT', `/ferret/${id}`],
  ] as const;
  for (const [method, path] of targets)
    await refusesAll(
      t,
      { service, views, secrets: ['ferret'] },
      // All of them read a text in the same way, so the others get one.
      Object.entries(HOSTILE)
        .slice(0, method === 'POST' && path === '/ferret' ? undefined : 1)
        .map(([what, text]) => ({
          what,
          method,
          path,
          headers: { 'content-type': FORM_TYPE },
          body: formBody(form(text)),
          status: 400,
          code: 'invalid_body',
          word: `${LIMIT_MS} ms`,
        })),
    );
});

t.test('the same texts are taken without pictures', async (t) => {
  for (const [what, text] of Object.entries(HOSTILE)) {
    t.equal((await feed('alone').postForm([field('text', text)])).status, 201, `${what}, as a form`);
    t.equal((await feed('alone').post(text)).status, 201, `${what}, as it is`);
  }
});

t.test('other clients are answered before the many slow texts of one', async (t) => {
  const readUrl = (await feed('weasel').post('before')).json.read_url;
  const before = contents(service.dir);
  const other = feed('weasel', '192.0.2.2');
  const areAnsweredBefore = async () => {
    const crowd = new Crowd(feed('slow', '192.0.2.1'), CROWD);
    await crowd.first;
    t.equal((await postGood(other, '![A](a.png)')).status, 201, 'a form');
    t.equal((await other.post('raw')).status, 201, 'a raw text');
    t.equal(
      (await other.post(picture('png', 70_000), { 'content-type': 'image/png' })).status,
      201,
      'a picture',
    );
    t.match((await exactly(readUrl)).text, 'raw', 'a read');
    t.equal((await feed('weasel', '192.0.2.1').post('mine')).status, 201, 'a raw text of the same client');
    const { answered } = crowd;
    for (const { status, json } of await crowd.replies) t.equal(`${status} ${json.code}`, '400 invalid_body');
    return answered < CROWD;
  };
  t.ok(await eventually(areAnsweredBefore));
  t.match(contents(service.dir), before, 'nothing else has changed');
  t.equal((await feed('slow').get()).status, 404, 'nothing is stored of the slow texts');
});

t.test('while four clients send a slow text each, another is answered before any of these', async (t) => {
  const patient = await start(t, { SERVICE_PARSE_TIMEOUT_MS: '3000', SERVICE_TRUST_PROXY: '1' });
  const client = (n: number) => new FeedClient(patient.url, 'stoat', { 'x-forwarded-for': `192.0.2.${n}` });
  await postGood(client(1), '*warm*');
  const slowest = form('*a_'.repeat(33_000));
  const isAnsweredBefore = async () => {
    let answered = 0;
    const slow = [1, 2, 3, 4].map(async (n) => {
      const { status } = await client(n).postForm(slowest);
      answered += 1;
      return status;
    });
    t.equal((await postGood(client(5), '![A](a.png)')).status, 201);
    const isFirst = answered === 0;
    for (const reply of slow) t.equal(await reply, 400);
    return isFirst;
  };
  t.ok(await eventually(isAnsweredBefore));
});

t.test('good texts are taken again afterwards', async (t) => {
  for (let i = 0; i < 8; i++) t.equal((await postGood(feed('after'), `*${i}*`)).status, 201);
});

t.test('texts nested as deep as they can be are taken or refused, and never break anything', async (t) => {
  const patient = await start(t, { SERVICE_PARSE_TIMEOUT_MS: '3000', SERVICE_TRUST_PROXY: '1' });
  const deep = {
    quotes: '>'.repeat(102_000),
    'quotes and lists': `${'>- '.repeat(30_000)}a\n\nb`,
    'lists over lines': Array.from({ length: 440 }, (_, i) => `${' '.repeat(i)}-`).join('\n'),
    brackets: '['.repeat(50_000) + ']'.repeat(50_000),
    parentheses: `[a](${'('.repeat(50_000)}${')'.repeat(50_000)})`,
    emphasis: `${'*a '.repeat(20_000)}${'a*'.repeat(20_000)}`,
  };
  await Promise.all(
    Object.entries(deep).map(async ([what, text], i) => {
      const client = new FeedClient(patient.url, 'mole', { 'x-forwarded-for': `192.0.2.${i}` });
      const { status } = await client.postForm(form(text));
      t.ok(status === 201 || status === 400, `${what}: ${status}`);
    }),
  );
  t.equal((await postGood(new FeedClient(patient.url, 'mole'), 'a')).status, 201);
});

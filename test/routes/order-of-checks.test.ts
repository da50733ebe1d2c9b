/**
 * The order in which a write is checked (contract §5), through HTTP: of any two things that are wrong with a request
 * the answer tells the first, and of everything at once as well.
 */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { contents } from '../support/refused.ts';
import { ask, start } from '../support/service.ts';

interface Request {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer> | null;
}

/** Something that is wrong with a request, and what is answered to it. */
interface Fault {
  readonly what: string;
  readonly status: number;
  readonly code: string;
  spoil(request: Request): void;
  /** What is to be done just before a request that is to meet it. */
  readonly prepare?: () => Promise<unknown>;
}

const BEARER = { authorization: 'Bearer let us in' };
const NO_NOTE = '20260101T000000Z-00000000-0000-7000-8000-000000000000';
/** A client that takes its turn beforehand; every other request comes from a client of its own. */
const TIRED = '192.0.2.1';

const service = await start(t, {
  SERVICE_PASSWORD: 'let us in',
  SERVICE_RATE_LIMIT: '1',
  SERVICE_TRUST_PROXY: '1',
  SERVICE_IMAGE_UPLOADS: '0',
  SERVICE_MAX_NOTES_PER_FEED: '1',
});
let clients = 0;

/** Headers of a client that has its turn yet. */
function fresh(): Record<string, string> {
  clients += 1;
  return { ...BEARER, 'x-forwarded-for': `10.0.${clients >> 8}.${clients & 255}` };
}

function feed(name: string, headers: Record<string, string> = {}): FeedClient {
  return new FeedClient(service.url, name, { ...fresh(), ...headers });
}

await feed('weasel-locked', { 'x-feed-password': 'secret' }).post();
await feed('weasel-other').post('x', { 'x-read-id': 'weasel-taken' });
const note = (await feed('weasel-full').post()).json;

/** Takes TIRED's turn, if it has one, and waits for the next where that comes soon: it has none for 10 s then. */
function tire(): Promise<boolean> {
  const client = new FeedClient(service.url, 'weasel-full', { ...BEARER, 'x-forwarded-for': TIRED });
  return eventually(async () => {
    const { status, headers } = await client.post();
    return status !== 429 || Number(headers.get('retry-after')) > 10;
  });
}

/** What may be wrong with any write that names a feed, in the order of checks. `at` makes the path for a feed. */
function faultsOfAccess(at: (name: string) => string): Fault[] {
  return [
    {
      what: 'no instance password',
      status: 401,
      code: 'auth',
      spoil: ({ headers }) => delete headers.authorization,
    },
    {
      what: 'no feed name',
      status: 400,
      code: 'invalid_feed',
      spoil: (request) => {
        request.path = at('Weasel');
      },
    },
    {
      what: 'no feed password',
      status: 401,
      code: 'auth',
      spoil: (request) => {
        request.path = at('weasel-locked');
        delete request.headers['x-feed-password'];
      },
    },
    {
      what: 'no turn left',
      status: 429,
      code: 'rate_limited',
      spoil: ({ headers }) => {
        headers['x-forwarded-for'] = TIRED;
      },
      prepare: tire,
    },
  ];
}

function header(what: string, name: string, value: string, status: number, code: string): Fault {
  return { what, status, code, spoil: ({ headers }) => Object.assign(headers, { [name]: value }) };
}

function body(what: string, value: Request['body'], status: number, code: string): Fault {
  return {
    what,
    status,
    code,
    spoil: (request) => {
      request.body = value;
    },
  };
}

const MISSPELT = header('a misspelt header', 'x-note-titel', 'x', 400, 'invalid_request');
const WRONG_TYPE = header('a wrong type', 'content-type', 'text/html', 415, 'unsupported_type');
const PICTURE = header('a picture where none is taken', 'content-type', 'image/png', 403, 'images_off');
const LONG_TEXT = body('a text too large', 'x'.repeat(102_401), 413, 'too_large');
const BAD_TITLE = header('a bad title', 'x-note-title', 'x'.repeat(101), 400, 'invalid_request');
const BAD_KEY = header('a bad key', 'idempotency-key', 'x'.repeat(201), 400, 'invalid_request');
const BAD_ETAG = header('an ETag without quotes', 'if-match', 'AAAA', 400, 'invalid_request');
const OTHER_ETAG = header('the ETag of another version', 'if-match', '"AAAA"', 412, 'changed');
const BAD_TEXT = body('bytes that are not UTF-8', new Uint8Array([0xff]), 415, 'unsupported_type');
const LONG_JSON = body('a body too large', ' '.repeat(8193), 413, 'too_large');
const BAD_JSON = body('no JSON', '{', 400, 'invalid_body');

function elsewhere(what: string, path: string, status: number, code: string): Fault {
  return {
    what,
    status,
    code,
    spoil: (request) => {
      request.path = path;
    },
  };
}

/** Sends the request with each two of the faults, and with all from each one on. */
async function ladder(t: Test, good: () => Request, faults: readonly Fault[]): Promise<void> {
  const before = contents(service.dir);
  for (const [place, first] of faults.entries()) {
    const later = faults.slice(place + 1);
    for (const others of [[], ...later.map((fault) => [fault]), later]) {
      const request = good();
      // From the last to the first: where two faults are in one part of the request, the first is there.
      for (const fault of [...others].reverse()) fault.spoil(request);
      first.spoil(request);
      const { method, path, headers, body } = request;
      await first.prepare?.();
      const reply = await ask(service.url + path, { method, headers, body });
      const what = [first, ...others].map((fault) => fault.what).join(' and ');
      t.equal(`${reply.status} ${reply.json?.code}`, `${first.status} ${first.code}`, what);
    }
  }
  t.same(contents(service.dir), before, 'nothing has changed');
  const { path, ...init } = good();
  t.ok((await ask(service.url + path, init)).status < 300, 'without any fault it is taken');
}

for (const at of [(name: string) => `/${name}`, (name: string) => `/api/v1/feeds/${name}/notes`])
  t.test(`a post to ${at('{feed}')}`, async (t) => {
    const isApi = at('').startsWith('/api');
    const good = (): Request => ({
      method: 'POST',
      path: at(`weasel-new-${isApi ? 'api' : 'raw'}`),
      headers: { ...fresh(), 'content-type': 'text/markdown' },
      body: 'x',
    });
    await ladder(t, good, [
      {
        what: 'a wrong method',
        status: 405,
        code: 'method_not_allowed',
        spoil: (request) => {
          request.method = 'PATCH';
        },
      },
      ...faultsOfAccess(at),
      MISSPELT,
      WRONG_TYPE,
      PICTURE,
      LONG_TEXT,
      BAD_TITLE,
      BAD_KEY,
      BAD_ETAG,
      BAD_TEXT,
      OTHER_ETAG,
      {
        what: 'a password for a feed without one',
        status: 409,
        code: 'feed_exists',
        spoil: (request) => {
          request.path = at('weasel-full');
          request.headers['x-feed-password'] = 'secret';
        },
      },
      elsewhere('a full feed', at('weasel-full'), 507, 'note_limit'),
    ]);
  });

t.test('a hook', async (t) => {
  const at = (name: string) => `/api/v1/feeds/${name}/hooks/gitlab`;
  const good = (): Request => ({
    method: 'POST',
    path: `${at('weasel-hook')}?secret=x`,
    headers: { ...fresh(), 'content-type': 'application/json', 'x-gitlab-token': 'x' },
    body: '{"object_kind":"push","ref":"refs/heads/main","project":{"path_with_namespace":"a/b"}}',
  });
  await ladder(t, good, [
    ...faultsOfAccess((name) => `${at(name)}?secret=x`),
    MISSPELT,
    elsewhere('an unknown kind', '/api/v1/feeds/weasel-hook/hooks/nagios', 404, 'not_found'),
    BAD_KEY,
    elsewhere(
      'a secret that nothing can show',
      '/api/v1/feeds/weasel-hook/hooks/slack?secret=x',
      400,
      'invalid_request',
    ),
    body('a payload too large', ' '.repeat(262_145), 413, 'too_large'),
    header('a wrong secret', 'x-gitlab-token', 'y', 401, 'auth'),
    BAD_JSON,
    elsewhere('a full feed', `${at('weasel-full')}?secret=x`, 507, 'note_limit'),
  ]);
});

t.test('a post of JSON', async (t) => {
  const good = (): Request => ({
    method: 'POST',
    path: '/weasel-json',
    headers: { ...fresh(), 'content-type': 'application/json' },
    body: '{"content":"x"}',
  });
  const long = body('a body too large', ' '.repeat(700_000), 413, 'too_large');
  await ladder(t, good, [MISSPELT, long, BAD_TITLE, BAD_KEY, BAD_ETAG, BAD_JSON, OTHER_ETAG]);
});

t.test('the read id of a post', async (t) => {
  const good = (): Request => ({
    method: 'POST',
    path: '/weasel-read',
    headers: { ...fresh(), 'content-type': 'text/markdown' },
    body: 'x',
  });
  await ladder(t, good, [
    ...faultsOfAccess((name) => `/${name}`),
    WRONG_TYPE,
    PICTURE,
    LONG_TEXT,
    header('a malformed read id', 'x-read-id', 'No', 400, 'invalid_request'),
    BAD_TEXT,
    header('a taken read id', 'x-read-id', 'weasel-taken', 409, 'taken'),
  ]);
});

for (const at of [(name: string) => `/${name}`, (name: string) => `/api/v1/feeds/${name}/notes`]) {
  const path = `${at('weasel-full')}/${note.id}`;
  const toNote = (name: string) => `${at(name)}/${note.id}`;
  const absent = elsewhere('an absent note', `${at('weasel-full')}/${NO_NOTE}`, 404, 'not_found');

  t.test(`a PUT to ${at('{feed}')}/{id}`, async (t) => {
    const good = (): Request => ({
      method: 'PUT',
      path,
      headers: { ...fresh(), 'content-type': 'text/markdown' },
      body: 'new',
    });
    const access = faultsOfAccess(toNote);
    const ofNote = [MISSPELT, WRONG_TYPE, PICTURE, LONG_TEXT, BAD_ETAG, BAD_TEXT, absent, OTHER_ETAG];
    await ladder(t, good, [...access, ...ofNote]);
  });

  t.test(`a PATCH to ${at('{feed}')}/{id}`, async (t) => {
    const good = (): Request => ({
      method: 'PATCH',
      path,
      headers: { ...fresh(), 'content-type': 'application/json' },
      body: '{"title":"new"}',
    });
    const wrong = body('an alt for a text', '{"alt":"a"}', 400, 'invalid_request');
    const ofBody = [MISSPELT, LONG_JSON, BAD_ETAG, BAD_JSON, absent, OTHER_ETAG];
    await ladder(t, good, [...faultsOfAccess(toNote), ...ofBody]);
    await ladder(t, good, [...faultsOfAccess(toNote), absent, wrong]);
  });

  t.test(`a DELETE of ${at('{feed}')}/{id}`, async (t) => {
    const { id } = (await feed(`weasel-${at('').length}`).post()).json;
    const good = (): Request => ({
      method: 'DELETE',
      path: `${at(`weasel-${at('').length}`)}/${id}`,
      headers: fresh(),
      body: null,
    });
    await ladder(t, good, [...faultsOfAccess(toNote), BAD_ETAG, absent, OTHER_ETAG]);
  });
}

t.test('a PUT of the feed record', async (t) => {
  const at = (name: string) => `/api/v1/feeds/${name}`;
  const json = (value: unknown) => JSON.stringify({ title: 'a', description: 'b', ...(value as object) });
  const good = (): Request => ({
    method: 'PUT',
    path: at('weasel-full'),
    headers: { ...fresh(), 'content-type': 'application/json' },
    body: json({}),
  });
  const taken = body('a taken read id', json({ read_id: 'weasel-taken' }), 409, 'taken');
  await ladder(t, good, [
    ...faultsOfAccess(at),
    elsewhere('an absent feed', at('weasel-absent'), 404, 'not_found'),
    LONG_JSON,
    BAD_ETAG,
    BAD_JSON,
    OTHER_ETAG,
    taken,
  ]);
});

t.test('a new password', async (t) => {
  const at = (name: string) => `/api/v1/feeds/${name}/password`;
  const good = (): Request => ({
    method: 'PUT',
    path: at('weasel-locked'),
    headers: { ...fresh(), 'content-type': 'application/json', 'x-feed-password': 'secret' },
    body: '{"password":"secret"}',
  });
  await ladder(t, good, [
    ...faultsOfAccess(at),
    elsewhere('an absent feed', at('weasel-absent'), 404, 'not_found'),
    LONG_JSON,
    BAD_JSON,
    body('an empty password', '{"password":""}', 400, 'invalid_request'),
    elsewhere('a feed without a password', at('weasel-full'), 409, 'feed_exists'),
  ]);
});

t.test('a conflict comes before a cap', async (t) => {
  const full = await start(t, { SERVICE_MAX_FEEDS: '1' });
  await new FeedClient(full.url, 'weasel').post('x', { 'x-read-id': 'weasel-taken' });
  const other = new FeedClient(full.url, 'weasel-2');
  const both = await other.post('x', { 'x-read-id': 'weasel-taken' });
  t.match(both, { status: 409, json: { code: 'taken' } });
  t.match(await other.post(), { status: 507, json: { code: 'feed_limit' } });
});

t.test('a chunked body, whose length nobody knows, is measured as it comes', async (t) => {
  const chunked = await start(t);
  const before = contents(chunked.dir);
  const chunks = new ReadableStream({
    start(controller) {
      for (let i = 0; i < 3; i++) controller.enqueue(new Uint8Array(50_000).fill(0x61));
      controller.close();
    },
  });
  const init = { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: chunks, duplex: 'half' };
  t.match(await ask(`${chunked.url}/weasel`, init as RequestInit), {
    status: 413,
    json: { code: 'too_large' },
  });
  t.same(contents(chunked.dir), before);
});

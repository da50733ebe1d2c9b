/** Every refusal of a form that docs/specification.md names ("Errors"), through HTTP: what is said, and that nothing is left of it. */
import t, { type Test } from 'tap';
import { largestRequestBytes } from '../../src/feeds/limits.ts';
import { BAD_BODIES, BAD_PARTS, GOOD_PARTS as good, MAX_PICTURE, png } from '../support/bad-forms.ts';
import { FeedClient } from '../support/feed-client.ts';
import { FORM_TYPE, field, file, formBody, type SentPart } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { contents, type Refused, refusesAll } from '../support/refused.ts';
import { post, start, type TestService } from '../support/service.ts';

const FORM = { 'content-type': FORM_TYPE };
/** What no sentence may tell. */
const SECRETS = ['polecat', 'secret', 'taken-id'];

async function polecats(t: Test, env: Record<string, string> = {}): Promise<TestService> {
  const service = await start(t, { SERVICE_MAX_IMAGE_BYTES: String(MAX_PICTURE), ...env });
  await new FeedClient(service.url, 'polecat').postForm(good);
  return service;
}

const service = await polecats(t);
const check = { service, views: [{ path: '/api/v1/feeds/polecat/notes' }], secrets: SECRETS };
const { id } = (await new FeedClient(service.url, 'polecat').post('a note')).json;

/** Where forms are sent: to a feed, a new one, and a note. */
const TARGETS = [
  ['POST', '/polecat'],
  ['POST', '/api/v1/feeds/polecat-new/notes'],
  ['PUT', `/polecat/${id}`],
] as const;

/** A PUT ignores what headers say of the note. */
const isIgnored = (method: string, headers: object) =>
  method === 'PUT' && !('x-note-tags' in headers) && Object.keys(headers).length > 0;

function refused(method: string, path: string): Refused[] {
  const ofParts = BAD_PARTS.filter(([, , , , , headers = {}]) => !isIgnored(method, headers)).map(
    ([what, parts, status, code, word, headers]): Refused => ({
      what,
      method,
      path,
      headers: { ...FORM, ...headers },
      body: formBody(parts),
      status,
      code,
      ...(word !== undefined && { word }),
    }),
  );
  const ofBodies = BAD_BODIES.map(
    ([what, body, type = FORM_TYPE]): Refused => ({
      what,
      method,
      path,
      headers: { 'content-type': type },
      body,
      status: 400,
      code: 'invalid_body',
    }),
  );
  return [...ofParts, ...ofBodies];
}

for (const [method, path] of TARGETS) {
  t.test(`${method} ${path.replace(id, '{id}')} refuses what the rules of forms forbid`, async (t) => {
    await refusesAll(t, check, refused(method, path));
  });

  t.test(`${method} ${path.replace(id, '{id}')} serves on after each refusal`, async (t) => {
    const connection = await RawConnection.open(service.port);
    t.teardown(() => connection.close());
    for (const { what, headers = {}, body = '', status } of refused(method, path)) {
      const bytes = Buffer.from(body as Uint8Array);
      connection.send(headOf(method, path, { ...headers, 'content-length': String(bytes.length) }));
      connection.send(bytes);
      t.equal((await connection.response()).status, status, what);
      connection.send('GET /health HTTP/1.1\r\nhost: test\r\n\r\n');
      t.equal((await connection.response()).status, 200, `a request after ${what}`);
    }
  });
}

t.test('a form of just the right size is taken after all of them', async (t) => {
  const client = new FeedClient(service.url, 'polecat');
  const largest = file('file', 'a', 'image/png', picture('png', MAX_PICTURE));
  t.equal((await client.postForm([field('text', 'a'), largest])).status, 201);
});

t.test('who may not write is told before the form is looked at', async (t) => {
  const locked = await polecats(t, { SERVICE_PASSWORD: 'let us in', SERVICE_RATE_LIMIT: '50' });
  const bearer = { authorization: 'Bearer let us in' };
  const feed = new FeedClient(locked.url, 'polecat-locked', bearer);
  t.equal((await feed.postForm(good, { 'x-feed-password': 'the secret' })).status, 201);
  const row = { method: 'POST', body: formBody(good), status: 401, code: 'auth' };
  const wrong = { 'x-feed-password': 'wrong' };
  await refusesAll(
    t,
    {
      ...check,
      service: locked,
      views: [
        {
          path: '/api/v1/feeds/polecat-locked/notes',
          headers: { ...bearer, 'x-feed-password': 'the secret' },
        },
      ],
    },
    [
      { ...row, what: 'no instance password', path: '/polecat-new', headers: FORM },
      {
        ...row,
        what: 'a wrong instance password',
        path: '/polecat-new',
        headers: { ...FORM, authorization: 'Bearer x' },
      },
      { ...row, what: 'no feed password', path: '/polecat-locked', headers: { ...FORM, ...bearer } },
      {
        ...row,
        what: 'a wrong feed password',
        path: '/polecat-locked',
        headers: { ...FORM, ...bearer, ...wrong },
      },
      { ...row, what: 'a bad form', path: '/polecat-locked', headers: { ...FORM, ...bearer }, body: 'x' },
      {
        ...row,
        what: 'a bad feed name',
        path: '/Polecat',
        headers: { ...FORM, ...bearer },
        status: 400,
        code: 'invalid_feed',
      },
    ],
  );
});

t.test('switches, caps and conflicts', async (t) => {
  const row = (
    what: string,
    path: string,
    parts: readonly SentPart[],
    status: number,
    code: string,
    headers = {},
  ) => ({
    what,
    method: 'POST',
    path,
    headers: { ...FORM, ...headers },
    body: formBody(parts),
    status,
    code,
  });
  const off = await start(t, { SERVICE_IMAGE_UPLOADS: '0' });
  await refusesAll(t, { ...check, service: off, views: [] }, [
    row('a text with a picture', '/polecat', good, 403, 'images_off'),
    row('only a picture', '/polecat', [png('a.png')], 403, 'images_off'),
    row('a picture with a bad name', '/polecat', [png('/')], 403, 'images_off'),
  ]);

  const capped = await polecats(t, {
    SERVICE_MAX_FEEDS: '1',
    SERVICE_MAX_NOTES_PER_FEED: '1',
    SERVICE_MAX_IMAGES_PER_FEED: '2',
  });
  await refusesAll(t, { ...check, service: capped }, [
    row('another text', '/polecat', good, 507, 'note_limit'),
    row('two pictures where one fits', '/polecat', [png('a'), png('b')], 507, 'image_limit'),
    row('another feed', '/polecat-new', good, 507, 'feed_limit'),
  ]);

  await post(`${service.url}/polecat-other`, 'x', { 'x-read-id': 'taken-id' });
  const pass = { 'x-feed-password': 'secret' };
  await refusesAll(t, check, [
    row('a password for a feed without one', '/polecat', good, 409, 'feed_exists', pass),
    row('a taken read id', '/polecat-new', good, 409, 'taken', { 'x-read-id': 'taken-id' }),
    row('a malformed read id', '/polecat-new', good, 400, 'invalid_request', { 'x-read-id': 'A' }),
    row('a reserved feed', '/login', good, 400, 'reserved_feed'),
  ]);
});

t.test('a length over the limit is refused before the body is sent, and nothing is left', async (t) => {
  const connection = await RawConnection.open(service.port);
  t.teardown(() => connection.close());
  const length = largestRequestBytes(MAX_PICTURE) + 1;
  const alsoWrong = { 'x-note-alt': 'a' };
  connection.send(headOf('POST', '/polecat', { ...FORM, ...alsoWrong, 'content-length': String(length) }));
  const { status, body } = await connection.response();
  t.equal(status, 413);
  t.match(JSON.parse(body.toString()), { code: 'too_large', error: new RegExp(String(length - 1)) });
});

t.test('a form that ends too early is refused wherever it ends', async (t) => {
  const before = contents(service.dir);
  const connection = await RawConnection.open(service.port);
  t.teardown(() => connection.close());
  const parts = [field('text', '![A](a.png)'), field('alt.a.png', 'A'), png('a.png')];
  const bytes = formBody(parts);
  // The last line end may be missing.
  const needed = bytes.length - 2;
  for (let length = 0; length < needed; length++) {
    connection.send(headOf('POST', '/polecat', { ...FORM, 'content-length': String(length) }));
    connection.send(bytes.subarray(0, length));
    const { status, body } = await connection.response();
    if (status !== 400) t.equal(status, 400, `${length} bytes: ${body}`);
  }
  t.same(contents(service.dir), before, 'nothing is left of any');
  t.equal((await new FeedClient(service.url, 'polecat').post(bytes.subarray(0, needed), FORM)).status, 201);
});

function headOf(method: string, path: string, headers: Record<string, string>): string {
  const lines = Object.entries({ host: 'test', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

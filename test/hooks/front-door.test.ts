/** Hooks as their senders call them, over HTTP. */
import { createHmac } from 'node:crypto';
import t, { type Test } from 'tap';
import { FeedClient } from '../support/feed-client.ts';
import { ask, type Reply, start } from '../support/service.ts';
import { type Recorded, recorded } from './payloads.ts';

const service = await start(t);
const { url } = service;
const JSON_TYPE = { 'content-type': 'application/json' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const PUSH = recordedAs('github', 'push');
/** The largest payload that is taken. */
const MAX_BYTES = 256 * 1024;

function recordedAs(kind: string, name: string): Recorded {
  return recorded(kind).find((one) => one.name === name)!;
}

function send(
  feed: string,
  kind: string,
  body: string,
  headers: Record<string, string> = {},
  base = url,
): Promise<Reply> {
  const path = `${base}/api/v1/feeds/${feed}/hooks/${kind}`;
  return ask(path, { method: 'POST', body, headers: { ...JSON_TYPE, ...headers } });
}

function sendRecorded(feed: string, { kind, text, headers }: Recorded): Promise<Reply> {
  return send(feed, kind, text, headers);
}

async function notesIn(feed: string, headers: Record<string, string> = {}, base = url) {
  const { json } = await new FeedClient(base, feed, headers).list('?limit=100');
  return json.notes;
}

const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

t.test('each recorded payload is stored, or 204 stores nothing', async (t) => {
  for (const payload of recorded()) {
    const { kind, name, notes } = payload;
    const feed = `rec-${kind}-${name}`.toLowerCase();
    const reply = await sendRecorded(feed, payload);
    const isSilent = notes === '';
    t.equal(reply.status, isSilent || kind === 'discord' ? 204 : 200, `${kind} ${name}: ${reply.text}`);
    const record = await ask(`${url}/api/v1/feeds/${feed}/notes`);
    const stored = isSilent ? [] : record.json.notes.reverse();
    t.equal(stored.length, isSilent ? 0 : notes.split(/^={20}$/m).length);
    for (const { content } of stored) t.ok(notes.includes(`\n\n${content}\n`), `${kind} ${name}`);
    if (!isSilent) t.same(stored[0].tags[0], kind);
  }
});

t.test('each sender gets the answer that it expects', async (t) => {
  const slack = await send('answers', 'slack', '{"text": "Hello"}');
  t.match(slack, { status: 200, text: 'ok' });
  t.match(slack.headers.get('content-type'), /^text\/plain/);
  t.equal(slack.headers.get('cache-control'), 'private, no-store');
  t.equal(slack.headers.get('x-content-type-options'), 'nosniff');
  t.match(await send('answers', 'discord', '{"content": "Hello"}'), { status: 204, text: '' });
  const waiting = await ask(`${url}/api/v1/feeds/answers/hooks/discord?wait=true`, {
    method: 'POST',
    body: '{"content": "Waiting"}',
    headers: JSON_TYPE,
  });
  const [newest] = await notesIn('answers');
  t.match(waiting, { status: 200, json: { id: newest.id } });
  t.match(await send('answers', 'generic', '{"message": "x"}'), { status: 200, json: { id: String } });
});

t.test('a form has its payload in a field', async (t) => {
  const form = (text: string) => new URLSearchParams({ payload: text }).toString();
  t.match(await send('forms', 'slack', form('{"text": "*Grüße* & x"}'), FORM), { text: 'ok' });
  t.match(await send('forms', 'github', form(PUSH.text), { ...FORM, ...PUSH.headers }), { status: 200 });
  const [push, slack] = await notesIn('forms');
  t.equal(slack.content, '**Grüße** & x');
  t.ok(PUSH.notes.includes(push.content));
  t.match(await send('forms', 'slack', form('{'), FORM), {
    status: 400,
    json: { code: 'invalid_body', error: /"payload"/ },
  });
  t.match(await send('forms', 'discord', form('{"content": "x"}'), FORM), {
    status: 400,
    json: { code: 'invalid_body' },
  });
  // curl -d says that JSON is a form.
  t.match(await send('forms', 'generic', '{"message": "100 %"}', FORM), { status: 200 });
});

t.test(
  'a group of alerts that is refused halfway leaves those before, and makes no second ones',
  async (t) => {
    const limited = await start(t, { SERVICE_MAX_NOTES_PER_FEED: '2' });
    const alerts = [1, 2, 3].map((day) => ({
      status: 'firing',
      labels: { alertname: `Alert ${day}` },
      startsAt: `2026-11-0${day}T00:00:00Z`,
      fingerprint: `f${day}`,
    }));
    const body = JSON.stringify({ status: 'firing', alerts });
    let before: unknown;
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const reply = await send('halfway', 'alertmanager', body, {}, limited.url);
      t.match(reply, { status: 507, json: { code: 'note_limit' } });
      const notes = await notesIn('halfway', {}, limited.url);
      t.match(notes, [{ title: 'Firing: Alert 2' }, { title: 'Firing: Alert 1' }]);
      t.same(notes, before ?? notes);
      before = notes;
    }
  },
);

t.test('an alert that resolves edits its own note', async (t) => {
  for (const kind of ['alertmanager', 'grafana']) {
    const feed = `alerts-${kind}`;
    const alert = (status: string, endsAt = '0001-01-01T00:00:00Z') =>
      JSON.stringify({
        status,
        alerts: [
          {
            status,
            labels: { alertname: 'DiskFull', severity: 'page' },
            startsAt: '2026-11-23T20:10:00Z',
            endsAt,
            fingerprint: 'f1',
          },
        ],
      });
    const fired = await send(feed, kind, alert('firing'));
    await send(feed, kind, '{"alerts": []}');
    const [before] = await notesIn(feed);
    t.match(before, { title: 'Firing: DiskFull', tags: [kind, 'firing', 'page'] });
    const edits = () => service.lines.filter(({ message }) => message === 'note edited').length;
    const count = edits();
    t.equal((await send(feed, kind, alert('firing'))).json.id, fired.json.id);
    t.equal(edits(), count, 'a repetition is no edit');
    const resolved = await send(feed, kind, alert('resolved', '2026-11-23T20:30:00Z'));
    t.match(resolved, { status: 200, json: { id: fired.json.id } });
    t.equal(edits(), count + 1);
    const notes = await notesIn(feed);
    t.match(notes, [{ id: fired.json.id, title: 'Resolved: DiskFull', tags: [kind, 'resolved', 'page'] }]);
    t.match(notes[0].content, /From 2026-11-23 20:10 UTC to 2026-11-23 20:30 UTC/);
    await ask(`${url}/api/v1/feeds/${feed}/notes/${fired.json.id}`, { method: 'DELETE' });
    const again = await send(feed, kind, alert('resolved', '2026-11-23T20:30:00Z'));
    t.not(again.json.id, fired.json.id, 'who missed the start learns of the end');
  }
});

t.test('a run that is repeated, and a delivery that is sent again, have one note', async (t) => {
  const ids: string[] = [];
  for (const name of ['workflow_run-failure', 'workflow_run-success'])
    ids.push((await sendRecorded('runs', recordedAs('github', name))).json.id);
  for (const name of ['pipeline-failed', 'pipeline-success'])
    ids.push((await sendRecorded('runs', recordedAs('gitlab', name))).json.id);
  t.equal(new Set(ids).size, 2);
  t.match(await notesIn('runs'), [
    { tags: ['gitlab', 'pipeline', 'success'] },
    { tags: ['github', 'workflow', 'success'] },
  ]);
  const first = await sendRecorded('deliveries', PUSH);
  t.equal((await sendRecorded('deliveries', PUSH)).json.id, first.json.id);
  const key = { 'idempotency-key': '6ab5-1' };
  const push = recordedAs('gitlab', 'push').text;
  const sent = await send('deliveries', 'gitlab', push, key);
  t.equal((await send('deliveries', 'gitlab', push, key)).json.id, sent.json.id);
  t.equal((await notesIn('deliveries')).length, 2);
  const other = recordedAs('gitlab', 'tag_push').text;
  t.match(await send('deliveries', 'gitlab', other, key), { status: 422, json: { code: 'key_reused' } });
  for (const [kind, name] of [
    ['github', 'workflow_run-success'],
    ['gitlab', 'pipeline-success'],
  ] as const) {
    const { text, headers } = recordedAs(kind, name);
    t.match(await send('runs', kind, text, { ...headers, ...key }), { status: 200 });
  }
  t.equal((await notesIn('runs')).length, 2, 'a key of its own counts more than that of the call');
  const alert = { status: 'firing', labels: { alertname: 'Without a start' } };
  const alerts = JSON.stringify({ alerts: [alert, { ...alert, status: 'resolved' }] });
  t.match(await send('deliveries', 'grafana', alerts, key), { status: 200 });
  t.equal((await notesIn('deliveries')).length, 4, 'that of the call is of no several notes');
  t.match(
    await send('deliveries', 'github', PUSH.text, { ...PUSH.headers, 'idempotency-key': 'x'.repeat(201) }),
    {
      status: 400,
      json: { code: 'invalid_request' },
    },
  );
});

t.test('with a secret, GitHub and GitLab must show that they know it', async (t) => {
  const limited = await start(t, { SERVICE_RATE_LIMIT: '2', SERVICE_TRUST_PROXY: '1' });
  const gitlab = recordedAs('gitlab', 'push');
  const sign = (secret: string, body: string) =>
    `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  let client = 0;
  const sendAs = (kind: string, body: string, headers: Record<string, string>, secret = 'gr%C3%BCn') => {
    const from = { 'x-forwarded-for': headers['x-forwarded-for'] ?? `10.0.0.${++client}` };
    return send('secret', `${kind}?secret=${secret}`, body, { ...headers, ...from }, limited.url);
  };
  const sendPush = (headers: Record<string, string>, secret?: string) =>
    sendAs('github', PUSH.text, { ...PUSH.headers, ...headers }, secret);
  t.match(await sendPush({}), { status: 401, json: { code: 'auth' } });
  for (const signature of [
    sign('red', PUSH.text),
    sign('grün', `${PUSH.text} `),
    sign('grün', PUSH.text).slice('sha256='.length),
    'sha256=',
    '',
  ])
    t.match(await sendPush({ 'x-hub-signature-256': signature }), { status: 401, json: { code: 'auth' } });
  t.match(await sendAs('gitlab', gitlab.text, {}), { status: 401 });
  t.match(await sendAs('gitlab', gitlab.text, { 'x-gitlab-token': 'red' }), { status: 401 });
  t.equal((await ask(`${limited.url}/api/v1/feeds/secret/notes`)).json.notes.length, 0);
  t.match(await sendPush({ 'x-hub-signature-256': sign('grün', PUSH.text) }), { status: 200 });
  t.match(await sendAs('gitlab', gitlab.text, { 'x-gitlab-token': 'green' }, 'green'), { status: 200 });
  t.match(await sendPush({ 'x-hub-signature-256': 'sha256=of-another' }, ''), { status: 200 });
  t.match(await sendAs('slack', '{"text": "x"}', {}), { status: 400, json: { code: 'invalid_request' } });
  const red = { 'x-gitlab-token': 'red' };
  t.match(await sendAs('gitlab', '{', red), { status: 401 }, 'before the contents');
  t.match(await sendAs('gitlab', ' '.repeat(MAX_BYTES + 1), red), { status: 413 }, 'after the size');
  const guesser = { 'x-gitlab-token': 'guess', 'x-forwarded-for': '10.9.9.9' };
  for (const status of [401, 401]) t.equal((await sendAs('gitlab', gitlab.text, guesser)).status, status);
  const right = { ...guesser, 'x-gitlab-token': 'green' };
  t.equal(
    (await sendAs('gitlab', gitlab.text, right, 'green')).status,
    429,
    'guesses and changes are limited',
  );
  const locked = new FeedClient(limited.url, 'locked', { 'x-feed-password': 'right' });
  await locked.post();
  for (const [client, token, status] of [
    ['10.9.9.7', {}, 200],
    ['10.9.9.8', red, 429],
  ] as const) {
    const from = { 'x-forwarded-for': client };
    for (let n = 0; n < 2; n += 1)
      t.match(await sendAs('gitlab', gitlab.text, { ...token, ...from }), { status: 401 });
    t.match(
      await locked.with(from).list(),
      { status },
      'a wrong token is a wrong password, a missing one is none',
    );
  }
  const guessing = { 'x-forwarded-for': '10.9.9.6', 'x-feed-password': 'wrong' };
  for (let n = 0; n < 2; n += 1) t.equal((await locked.with(guessing).list()).status, 401);
  const late = { 'x-gitlab-token': 'green', 'x-forwarded-for': '10.9.9.6' };
  t.match(await sendAs('gitlab', gitlab.text, late, 'green'), { json: { code: 'too_many_attempts' } });
  t.notMatch(JSON.stringify(limited.lines), /gr(?:%C3%BC|ü|ee)n|guess"/);
});

t.test('credentials may come in HTTP Basic', async (t) => {
  const locked = await start(t, { SERVICE_PASSWORD: 'pass:word 1' });
  const bearer = { authorization: 'Bearer pass:word 1' };
  const text = '{"text": "Hello"}';
  const at = (feed: string, headers: Record<string, string>) =>
    send(feed, 'slack', text, headers, locked.url);
  const right = basic('', 'pass:word 1');
  t.match(await at('open', {}), { status: 401, json: { code: 'auth' } });
  for (const wrong of ['Basic', 'Basic !!', 'Basic x', basic('pass:word 1', '').authorization])
    t.match(await at('open', { authorization: wrong }), { status: 401, json: { code: 'auth' } }, wrong);
  t.match(await at('open', basic('', 'wrong')), { status: 401, json: { code: 'auth' } });
  t.match(await at('open', basic('anybody', '')), { json: { error: /^This instance has a password/ } });
  t.match(await at('open', right), { status: 200 });
  t.match(
    await at('open', basic('änybody', 'pass:word 1')),
    { status: 200 },
    'an open feed asks for no name',
  );
  t.match(await at('closed', { ...right, 'x-feed-password': 'secret' }), { status: 200 });
  t.match(await at('closed', right), { status: 401, json: { code: 'auth' } });
  t.match(await at('closed', basic('wrong', 'pass:word 1')), { status: 401, json: { code: 'auth' } });
  t.match(await at('closed', basic('secret', 'pass:word 1')), { status: 200 });
  const both = { ...basic('secret', 'pass:word 1'), 'x-feed-password': 'wrong' };
  t.match(await at('closed', both), { status: 401, json: { code: 'auth' } }, 'the header wins');
  const closed = await ask(`${locked.url}/api/v1/feeds/closed`, {
    headers: { ...bearer, 'x-feed-password': 'secret' },
  });
  t.equal(closed.status, 200);
  const open = await ask(`${locked.url}/api/v1/feeds/open`, { headers: bearer });
  t.equal(open.json.protected, false, 'a user name makes no password');
  for (const path of ['/api/v1/feeds/open', '/api/v1/feeds/open/notes'])
    t.equal((await ask(locked.url + path, { headers: right })).status, 401, 'other operations take no Basic');
});

t.test('what cannot be taken is refused as a post is', async (t) => {
  const refused: [string, string, string, number, string][] = [
    ['refusals', 'nagios', '{}', 404, 'not_found'],
    ['refusals', 'constructor', '{}', 404, 'not_found'],
    ['Refusals', 'slack', '{}', 400, 'invalid_feed'],
    ['refusals', 'slack', '{}', 400, 'invalid_body'],
    ['refusals', 'slack', '', 400, 'invalid_body'],
    ['refusals', 'slack', '{"text": "\ud800', 400, 'invalid_body'],
    ['refusals', 'github', '{}', 400, 'invalid_request'],
    ['refusals', 'generic', ' '.repeat(MAX_BYTES + 1), 413, 'too_large'],
    ['refusals', 'alertmanager', JSON.stringify({ alerts: ['x'.repeat(100_000)] }), 400, 'invalid_body'],
    ['refusals', 'generic', '['.repeat(33) + ']'.repeat(33), 400, 'invalid_body'],
    ['refusals', 'generic', '['.repeat(130_000), 400, 'invalid_body'],
    ['refusals', 'generic', `[${'[],'.repeat(80_000)}0]`, 400, 'invalid_body'],
  ];
  for (const [feed, kind, body, status, code] of refused)
    t.match(await send(feed, kind, body), { status, json: { code } }, `${kind} ${body.slice(0, 20)}`);
  t.equal((await send('refusals', 'generic', 'null', { origin: 'https://evil.example' })).status, 403);
  t.match(await send('refusals', 'generic', 'null', { 'x-feed-pasword': 'x' }), { status: 400 });
  t.equal((await notesIn('refusals')).length, 0);
});

t.test('the address that a sender sends along is not shown to readers', async (t) => {
  const feed = 'told-secret';
  const address = `https://feed-pass:instance-pass@notes.example/api/v1/feeds/${feed}/hooks/generic?secret=horse`;
  // A ping of GitHub; others tell the address in each call.
  const ping = { zen: 'Keep it logically awesome.', hook: { config: { url: address, active: true } } };
  const large = { ...ping, padding: 'x'.repeat(20_000) };
  const text = { message: `Sent to ${address}\nby us`, url: address };
  // Some senders escape slashes.
  for (const payload of [ping, large, text])
    for (const body of [JSON.stringify(payload), JSON.stringify(payload).replaceAll('/', '\\/')])
      t.equal((await send(feed, 'generic', body)).status, 200);
  const notes = await notesIn(feed);
  for (const { content } of notes) t.notMatch(content, /told-secret|feed-pass|horse/);
  t.equal(notes[0].content, 'Sent to …  \nby us\n\n…');
  t.match(notes.at(-1).content, '"url": "…"');
});

t.test('nor in the name of a member, within another address, or in JSON in a text', async (t) => {
  const feed = 'told-within';
  const address = `https://notes.example/api/v1/feeds/${feed}/hooks/generic`;
  const results = { results: { [address]: 'delivered', 'https://other.example/': 'delivered' } };
  const login = { message: 'Failed', url: `https://ci.example/login?to=${encodeURIComponent(address)}` };
  const lower = { ...login, url: login.url.replaceAll('%2F', '%2f') };
  const nested = { message: `Config: ${JSON.stringify({ url: address }).replaceAll('/', '\\/')} was used` };
  for (const payload of [results, login, lower, nested])
    t.equal((await send(feed, 'generic', JSON.stringify(payload))).status, 200);
  const notes = await notesIn(feed);
  for (const { content } of notes) t.notMatch(content, /told-within/);
  t.match(notes.at(-1).content, '"https://other.example/": "delivered"');
  t.equal(notes[0].content, 'Config: … was used');
});

t.test('a hook counts as one change', async (t) => {
  const limited = await start(t, { SERVICE_RATE_LIMIT: '1' });
  const many = recordedAs('alertmanager', 'many');
  const reply = (await send('limited', many.kind, many.text, {}, limited.url)).status;
  t.equal(reply, 200);
  t.equal((await notesIn('limited', {}, limited.url)).length, 21);
  t.match(await send('limited', 'slack', '{"text": "x"}', {}, limited.url), {
    status: 429,
    json: { code: 'rate_limited' },
  });
});

t.test('the largest payload, of thousands of values', async (t) => {
  const body = JSON.stringify({ message: 'x', files: Array(3_000).fill(0) }).padEnd(MAX_BYTES);
  t.match(await send('largest', 'generic', body), { status: 200 });
});

t.test('the same notes are made of a large payload, on a thread', async (t) => {
  const padded = ({ text }: Recorded) => text + ' '.repeat(20_000);
  for (const payload of [PUSH, recordedAs('slack', 'blocks'), recordedAs('alertmanager', 'group')]) {
    const { kind, headers, notes } = payload;
    const feed = `large-${kind}`;
    t.equal((await send(feed, kind, padded(payload), headers)).status, 200);
    for (const { content } of await notesIn(feed)) t.ok(notes.includes(`\n\n${content}\n`), kind);
  }
  t.match(await send('large', 'github', padded(PUSH)), { status: 400, json: { code: 'invalid_request' } });
});

t.test('no log line has the name of a feed or what was sent', async (t: Test) => {
  t.notMatch(JSON.stringify(service.lines), /alerts-grafana|deliveries|DiskFull|6ab5-1/);
});

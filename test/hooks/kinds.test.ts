/** What the payloads of each sender become, in files beside them; and what is refused. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { isNoteKey } from '../../src/feeds/keeping.ts';
import { HOOK_KINDS } from '../../src/hooks/kinds.ts';
import { refuseDeep } from '../../src/hooks/members.ts';
import { notesOf, recorded, written } from './payloads.ts';

for (const { kind, name, text, headers, notes } of recorded())
  t.test(`${kind}: ${name}`, async (t) => {
    const payload = JSON.parse(text);
    refuseDeep(payload);
    t.equal(written(notesOf(kind, payload, headers)), notes);
  });

t.test('each kind has payloads, and a place in docs/hooks.md', async (t) => {
  t.same(new Set(recorded().map(({ kind }) => kind)), new Set(HOOK_KINDS.keys()));
  const page = readFileSync(join(import.meta.dirname, '../../docs/hooks.md'), 'utf8');
  for (const kind of HOOK_KINDS.keys()) t.match(page, `\n| \`${kind}\` |`);
});

t.test('readers do not see a confidential issue of GitLab', async (t) => {
  const { text, headers } = recorded().find(({ kind, name }) => kind === 'gitlab' && name === 'issue-open')!;
  const { object_attributes: about, ...payload } = JSON.parse(text);
  t.equal(notesOf('gitlab', { ...payload, object_attributes: about }, headers).length, 1);
  for (const sign of [
    { object_attributes: { ...about, confidential: true } },
    { object_attributes: about, event_type: 'confidential_issue' },
  ])
    t.same(notesOf('gitlab', { ...payload, ...sign }, headers), []);
});

const PUSH = { 'x-github-event': 'push' };
const RUN = { 'x-github-event': 'workflow_run' };
const REPOSITORY = { full_name: 'acme/shop' };
const PROJECT = { path_with_namespace: 'acme/shop', web_url: 'https://gitlab.example/acme/shop' };
const ALERT = { labels: {}, startsAt: '2026-11-23T20:10:00Z' };

/** What the recorded payloads leave out: events of GitHub, then of GitLab. Undefined for no note. */
const EVENTS: readonly [event: string, payload: object, markdown: string | undefined, tags?: string[]][] = [
  ['issues', { action: 'reopened', issue: { number: 7, title: 'Cart' } }, 'Somebody reopened issue #7 Cart'],
  [
    'pull_request',
    { action: 'reopened', pull_request: { number: 8, title: 'Till', base: { ref: 'main' } } },
    'Somebody reopened pull request #8 Till into `main`',
  ],
  [
    'release',
    { action: 'published', release: { tag_name: 'v2', prerelease: true } },
    'Somebody published pre-release v2',
    ['github', 'release', 'prerelease'],
  ],
  ['push', { ref: 'refs/tags/v1', pusher: { name: 'ann' } }, '**ann** moved the tag `v1` of'],
  ['push', { ref: 'refs/heads/a`[b]' }, 'Somebody moved the branch a\\`\\[b\\] of'],
  ['workflow_run', runOf('skipped'), undefined],
  ['workflow_run', runOf('timed_out'), '**CI #2**: timed out on `main`', ['github', 'workflow', 'timed-out']],
];
const EVENTS_OF_GITLAB: typeof EVENTS = [
  [
    'issue',
    { object_attributes: { action: 'reopen', iid: 7, title: 'Cart' } },
    'Somebody reopened issue #7 Cart',
  ],
  ['release', { action: 'update', tag: 'v2' }, undefined],
  [
    'pipeline',
    { object_attributes: { status: 'canceled', id: 3, ref: 'main' } },
    '[**Pipeline #3**](https://gitlab.example/acme/shop/-/pipelines/3): cancelled on `main`',
    ['gitlab', 'pipeline', 'cancelled'],
  ],
  [
    'push',
    { ref: 'refs/heads/new', before: '0000', after: '12', total_commits_count: 1 },
    'Somebody pushed 1 commit to the branch `new`',
  ],
];

function runOf(conclusion: string) {
  const run = { id: 1, name: 'CI', run_number: 2, conclusion, head_branch: 'main' };
  return { action: 'completed', workflow_run: run };
}

t.test('events that people watch, and those that nobody does', async (t) => {
  const check = (
    what: string,
    [note]: ReturnType<typeof notesOf>,
    [, , start, tags]: (typeof EVENTS)[number],
  ) => {
    t.equal(note?.markdown.slice(0, start?.length), start, what);
    if (tags) t.same(note?.tags, tags, what);
  };
  for (const row of EVENTS) {
    const payload = { repository: REPOSITORY, ...row[1] };
    check(row[0], notesOf('github', payload, { 'x-github-event': row[0] }), row);
  }
  for (const row of EVENTS_OF_GITLAB)
    check(row[0], notesOf('gitlab', { object_kind: row[0], project: PROJECT, ...row[1] }), row);
});

t.test('a description is shortened', async (t) => {
  const issue = { number: 7, title: 'Cart', body: 'x'.repeat(1_501) };
  const payload = { repository: REPOSITORY, action: 'opened', issue };
  const [note] = notesOf('github', payload, { 'x-github-event': 'issues' });
  t.match(note?.markdown, /\n\nx{1500}…$/);
});

t.test('states of a monitor of Uptime Kuma', async (t) => {
  for (const [status, state] of ['down', 'up', 'pending', 'maintenance'].entries()) {
    const [note] = notesOf('uptime-kuma', { heartbeat: { status, msg: 'x' }, monitor: { name: 'Shop' } });
    t.match(note, { title: new RegExp(`^${state}: Shop$`, 'i'), tags: ['uptime-kuma', state] });
  }
});

/** Messages of chats, and any JSON, as markdown. */
const MESSAGES: readonly [kind: string, payload: object, markdown: string][] = [
  [
    'slack',
    richText(
      { type: 'usergroup', usergroup_id: 'S1' },
      { type: 'text', text: ' ' },
      { type: 'channel', channel_id: 'C1' },
      { type: 'text', text: ' ' },
      { type: 'date', timestamp: 1, fallback: 'Jan 1' },
      { type: 'text', text: ' ' },
      { type: 'link', url: 'https://x.example/' },
      { type: 'text', text: ' ' },
      { type: 'text', text: 'gone', style: { strike: true } },
    ),
    '@S1 #C1 Jan 1 <https://x.example/> ~~gone~~',
  ],
  [
    'slack',
    {
      blocks: [
        { type: 'video', title: { type: 'plain_text', text: 'Film' }, title_url: 'https://x.example/' },
        { type: 'markdown', text: 'a *b*' },
        {
          type: 'rich_text',
          elements: [
            {
              type: 'rich_text_list',
              style: 'bullet',
              elements: [{ elements: [{ type: 'text', text: 'one' }] }],
            },
            { type: 'rich_text_preformatted', elements: [{ type: 'text', text: '```\nx' }] },
          ],
        },
      ],
    },
    '[**Film**](https://x.example/)\n\na \\*b\\*\n\n- one\n\n````\n```\nx\n````',
  ],
  [
    'discord',
    { content: '\\*a\\* _b_ a_b_c <https://x.example/>' },
    '\\*a\\* *b* a_b_c <https://x.example/>',
  ],
  ['discord', { content: '# **a** b' }, '**a** b'],
  ['discord', { content: '<t:99999999999>' }, '5138-11-16 09:46 UTC'],
  ['discord', { embeds: [{ video: { url: 'https://x.example/v' } }] }, '[Video](https://x.example/v)'],
  [
    'discord',
    { embeds: [{ title: 'a', url: 'https://x.example/?a|&lt;' }] },
    '[**a**](https://x.example/?a%7C&amp;lt;)',
  ],
  ['generic', { message: 'a', url: 'ftp://x.example/' }, 'a\n\nftp\\://x.example/'],
];

function richText(...elements: object[]) {
  return { blocks: [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }] };
}

t.test('marks and parts of messages', async (t) => {
  for (const [kind, payload, markdown] of MESSAGES)
    t.equal(notesOf(kind, payload)[0]?.markdown, markdown, JSON.stringify(payload));
});

t.test('tags say the outcome of the first attachment, and nothing twice', async (t) => {
  const attachments = [
    { color: 'good', text: 'a' },
    { color: 'danger', text: 'b' },
  ];
  t.same(notesOf('slack', { attachments })[0]?.tags, ['slack', 'success']);
  t.same(notesOf('generic', { message: 'x', status: 'Generic' })[0]?.tags, ['generic']);
});

t.test('of many parts the first are shown', async (t) => {
  const many = (count: number, part: (text: string) => object) =>
    Array.from({ length: count }, (_, at) => part(`part-${at}`));
  const shown = (kind: string, payload: object) =>
    notesOf(kind, payload)[0]!.markdown.match(/part-/g)?.length;
  t.equal(shown('slack', { attachments: many(51, (text) => ({ text })) }), 50);
  t.equal(shown('discord', { embeds: many(11, (title) => ({ title })) }), 10);
  t.equal(shown('discord', { embeds: [{ fields: many(26, (name) => ({ name })) }] }), 25);
  const labels = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`part-${at}`, 'x']));
  t.equal(shown('alertmanager', { alerts: [{ ...ALERT, status: 'firing', labels }] }), 20);
});

/** Broken payloads by the member that is to blame. */
const BROKEN: readonly [kind: string, payload: unknown, member: string, headers?: Record<string, string>][] =
  [
    ...['slack', 'discord', 'gitlab', 'grafana', 'alertmanager', 'uptime-kuma'].flatMap((kind) =>
      [null, [], 'x', 1].map((payload): [string, unknown, string] => [kind, payload, 'The body']),
    ),
    ['slack', {}, '"text"'],
    ['slack', { text: '  ' }, '"text"'],
    ['slack', { text: { type: 'mrkdwn' } }, '"text"'],
    ['slack', { blocks: {} }, '"blocks"'],
    ['slack', { blocks: ['x'] }, '"blocks.0"'],
    ['slack', { blocks: [{ type: 'section', text: 'x' }] }, '"blocks.0.text"'],
    ['slack', { blocks: [{ type: 'header', text: { text: [] } }] }, '"blocks.0.text.text"'],
    ['slack', { attachments: [{ fields: 'x' }] }, '"attachments.0.fields"'],
    ['discord', {}, '"content"'],
    ['discord', { content: '' }, '"content"'],
    ['discord', { embeds: [{ fields: [1] }] }, '"embeds.0.fields.0"'],
    ['github', [], 'The body', PUSH],
    ['github', { repository: REPOSITORY }, '"ref"', PUSH],
    ['github', { ref: 'refs/heads/main' }, '"repository.full_name"', PUSH],
    ['github', { ref: 'x', repository: REPOSITORY, commits: [{ id: {} }] }, '"commits.0.id"', PUSH],
    ['github', { workflow_run: {} }, '"action"', RUN],
    ['github', { action: 'completed', workflow_run: {}, repository: REPOSITORY }, '"workflow_run.id"', RUN],
    ['gitlab', {}, '"object_kind"'],
    ['gitlab', { object_kind: 'push' }, '"project.path_with_namespace"'],
    ['gitlab', { object_kind: 'pipeline' }, '"object_attributes.status"'],
    [
      'gitlab',
      { object_kind: 'push', total_commits_count: 'x', project: { path_with_namespace: 'a' }, ref: 'b' },
      '"total_commits_count"',
    ],
    ...['grafana', 'alertmanager'].flatMap((kind): [string, unknown, string][] => [
      [kind, {}, '"alerts"'],
      [kind, { alerts: {} }, '"alerts"'],
      [kind, { alerts: [ALERT] }, '"alerts.0.status"'],
      [kind, { alerts: [{ ...ALERT, status: 'firing', labels: [] }] }, '"alerts.0.labels"'],
      [kind, { alerts: [{ ...ALERT, status: 'firing', labels: { a: {} } }] }, '"alerts.0.labels.a"'],
    ]),
    ['uptime-kuma', {}, '"msg"'],
    ['uptime-kuma', { heartbeat: { status: 'down' }, msg: 'x' }, '"heartbeat.status"'],
  ];

t.test('what cannot be read is refused and named', async (t) => {
  for (const [kind, payload, member, headers = {}] of BROKEN) {
    const what = `${kind} ${JSON.stringify(payload)}`;
    const error = { code: 'invalid_body', message: new RegExp(`^(?:The member )?${member}`) };
    t.throws(() => notesOf(kind, payload, headers), error, what);
  }
  const labels = { [`a\n${'b'.repeat(1_000)}`]: {} };
  t.throws(() => notesOf('grafana', { alerts: [{ ...ALERT, status: 'firing', labels }] }), {
    message: /^The member "alerts\.0\.labels\.a…" of the body must be a text\.$/,
  });
  t.throws(() => notesOf('github', {}), { code: 'invalid_request', message: /X-GitHub-Event/ });
});

t.test('a payload that is nested too deep is refused', async (t) => {
  const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
  t.doesNotThrow(() => refuseDeep(nested(32)));
  t.throws(() => refuseDeep(nested(33)), { code: 'invalid_body' });
  t.throws(() => refuseDeep(nested(100_000)), { code: 'invalid_body' });
});

t.test('an alert that has a note keeps it, however many come after it', async (t) => {
  const alerts = Array.from({ length: 30 }, (_, at) => ({
    ...ALERT,
    status: 'firing',
    fingerprint: `${30 - at}`,
    startsAt: new Date(Date.UTC(2026, 0, 31, 12, 30 - at)).toISOString(),
  }));
  const keysOf = (some: unknown) => notesOf('alertmanager', { alerts: some }).map(({ key }) => key);
  const before = keysOf(alerts.slice(15));
  t.equal(before.length, 15);
  t.same(keysOf(alerts).slice(0, 15), before);
});

t.test('what a group of alerts says of itself', async (t) => {
  const alert = {
    ...ALERT,
    status: 'firing',
    endsAt: '2026-11-23T20:20:00Z',
    annotations: { message: 'Old text' },
  };
  for (const kind of ['grafana', 'alertmanager'])
    t.match(notesOf(kind, { alerts: [alert], truncatedAlerts: -1 }), {
      length: 1,
      0: { markdown: /^Old text\n\nSince 2026-11-23 20:10 UTC$/ },
    });
});

t.test('an alert has one key from its start to its end, and another when it comes back', async (t) => {
  const alert = (more: object) => ({ alerts: [{ ...ALERT, fingerprint: 'f', status: 'firing', ...more }] });
  for (const kind of ['grafana', 'alertmanager']) {
    const keyOf = (more: object) => notesOf(kind, alert(more))[0]?.key;
    const key = keyOf({});
    t.equal(keyOf({ status: 'resolved', endsAt: '2026-11-23T20:20:00Z' }), key);
    t.equal(keyOf({ startsAt: '2026-11-23T21:10:00+01:00' }), key, 'in another zone');
    t.not(keyOf({ startsAt: '2026-11-24T20:10:00Z' }), key);
    t.not(keyOf({ fingerprint: 'g' }), key);
    for (const startsAt of ['soon', '0001-01-01T00:00:00Z'])
      t.equal(keyOf({ startsAt }), undefined, startsAt);
    t.ok(isNoteKey(keyOf({ fingerprint: 'f'.repeat(200) })!), 'however long its names');
    const old = (labels: object) => keyOf({ fingerprint: '', labels });
    t.equal(old({ a: 'x', b: 'y' }), old({ b: 'y', a: 'x' }), 'labels have no order');
  }
});

t.test(
  'spaces at the ends of a text of Slack are outside of its marks, those in it stay, however many',
  async (t) => {
    const inside = `a${' '.repeat(15_000)}b`;
    const text = { type: 'text', text: `  ${inside} `, style: { bold: true } };
    const section = { type: 'rich_text_section', elements: [text, { type: 'text', text: 'c' }] };
    const blocks = [{ type: 'rich_text', elements: [section] }];
    t.match(notesOf('slack', { blocks }), [{ markdown: new RegExp(`\\*\\*${inside}\\*\\* c`) }]);
  },
);

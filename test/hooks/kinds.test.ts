/** What the payloads of each sender become, in files beside them; and what is refused. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
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
const ALERT = { labels: {}, startsAt: '2026-11-23T20:10:00Z' };

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

t.test('an alert has one key from its start to its end, and another when it comes back', async (t) => {
  const alert = (more: object) => ({ alerts: [{ ...ALERT, fingerprint: 'f', status: 'firing', ...more }] });
  for (const kind of ['grafana', 'alertmanager']) {
    const keyOf = (more: object) => notesOf(kind, alert(more))[0]?.key;
    const key = keyOf({});
    t.equal(keyOf({ status: 'resolved', endsAt: '2026-11-23T20:20:00Z' }), key);
    t.equal(keyOf({ startsAt: '2026-11-23T21:10:00+01:00' }), key, 'in another zone');
    t.not(keyOf({ startsAt: '2026-11-24T20:10:00Z' }), key);
    t.not(keyOf({ fingerprint: 'g' }), key);
    t.equal(keyOf({ startsAt: 'soon' }), undefined);
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

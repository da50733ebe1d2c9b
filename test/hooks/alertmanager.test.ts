/** A real Alertmanager, configured as docs/hooks.md says, and one that believes it talks to Slack and Discord. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { freePort } from '../support/free-port.ts';
import { missing, program } from '../support/installed.ts';
import { ask, start, tempDir } from '../support/service.ts';

const PASSWORD = 'of the instance';
const skip = missing('alertmanager');
const ALERT = {
  labels: { alertname: 'DiskFull', severity: 'page', instance: 'db-1' },
  annotations: { summary: 'The disk of db-1 is *full*' },
  startsAt: '2026-01-31T12:00:00Z',
};

/** Starts one that sends groups at once; killed when the test ends. Returns what tells it of the alert. */
async function startAlertmanager(t: Test, receiver: object): Promise<(endsAt?: Date) => Promise<void>> {
  const folder = await tempDir(t);
  const config = join(folder, 'alertmanager.yml');
  const route = { receiver: 'notes', group_wait: '0s', group_interval: '1s', repeat_interval: '1s' };
  await writeFile(config, stringify({ route, receivers: [{ name: 'notes', ...receiver }] }));
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    program('alertmanager'),
    [
      `--config.file=${config}`,
      `--storage.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--cluster.listen-address=',
    ],
    { stdio: 'ignore' },
  );
  t.teardown(async () => {
    const exit = once(child, 'exit');
    if (child.kill('SIGKILL')) await exit;
  });
  const isReady = () =>
    ask(`http://${address}/-/ready`).then(
      ({ status }) => status === 200,
      () => false,
    );
  t.ok(await eventually(isReady), 'Alertmanager has started');
  return async (endsAt) => {
    const body = JSON.stringify([{ ...ALERT, endsAt }]);
    const headers = { 'content-type': 'application/json' };
    const { status } = await ask(`http://${address}/api/v2/alerts`, { method: 'POST', headers, body });
    t.equal(status, 200);
  };
}

t.test('an alert fires, is repeated, and resolves', { skip }, async (t) => {
  const { url, lines } = await start(t, { SERVICE_PASSWORD: PASSWORD });
  const page = await readFile(join(import.meta.dirname, '../../docs/hooks.md'), 'utf8');
  const [receiver] = parse(/^```yaml\n(.*?)^```$/ms.exec(page)![1]!).receivers;
  const [hook] = receiver.webhook_configs;
  hook.url = hook.url.replace('https://notes.example', url);
  hook.http_config.authorization.credentials_file = join(await tempDir(t), 'password');
  await writeFile(hook.http_config.authorization.credentials_file, PASSWORD);
  const tell = await startAlertmanager(t, receiver);
  const feed = new FeedClient(url, 'my-secret-feed', { authorization: `Bearer ${PASSWORD}` });
  const notes = async () => (await feed.list()).json.notes ?? [];
  const calls = () => lines.filter(({ fields }) => String(fields.route).includes('hooks')).length;

  await tell();
  t.ok(await eventually(async () => (await notes()).length === 1), 'it is told');
  const [firing] = await notes();
  t.match(firing, { title: 'Firing: DiskFull', tags: ['alertmanager', 'firing', 'page'] });
  t.match(firing.content, 'The disk of db-1 is \\*full\\*');
  t.ok(await eventually(() => calls() >= 3), 'it is repeated');
  await tell(new Date());
  t.ok(await eventually(async () => (await notes())[0].title === 'Resolved: DiskFull'), 'it resolves');
  t.match(await notes(), [{ id: firing.id, tags: ['alertmanager', 'resolved', 'page'] }]);
  t.equal((await notes()).length, 1);
  t.equal(lines.filter(({ message }) => message === 'note edited').length, 1);
});

t.test('it takes the hooks for those of Slack and Discord', { skip }, async (t) => {
  const { url, lines } = await start(t, { SERVICE_PASSWORD: PASSWORD });
  const at = (kind: string) =>
    `${url.replace('//', `//:${encodeURIComponent(PASSWORD)}@`)}/api/v1/feeds/chat/hooks/${kind}`;
  const tell = await startAlertmanager(t, {
    slack_configs: [{ api_url: at('slack'), text: '*Summary:* {{ .CommonAnnotations.summary }}' }],
    discord_configs: [{ webhook_url: at('discord') }],
  });
  await tell();
  const feed = new FeedClient(url, 'chat', { authorization: `Bearer ${PASSWORD}` });
  const byTag = async (tag: string) => (await feed.list(`?tag=${tag}`)).json.notes ?? [];
  const isTold = async () => (await byTag('slack')).length > 0 && (await byTag('discord')).length > 0;
  t.ok(await eventually(isTold));
  const [slack, discord] = [(await byTag('slack')).at(-1), (await byTag('discord')).at(-1)];
  t.match(slack.title, '[FIRING:1]  (DiskFull db-1 page)');
  t.match(slack.content, '**Summary:** The disk of db-1 is **full**');
  t.match(discord.title, '[FIRING:1]  (DiskFull db-1 page)');
  t.match(discord.content, '- alertname = DiskFull\n- instance = db-1');
  const failed = lines.filter(({ message, fields }) => message === 'request' && Number(fields.status) >= 400);
  t.same(failed, []);
});

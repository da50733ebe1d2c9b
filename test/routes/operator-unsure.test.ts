/** A change by the operator whose commit is of unknown outcome: somebody is accountable for it all the same. */
import t from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient } from '../support/feed-client.ts';
import { operate, WITH_OPERATOR } from '../support/operator.ts';
import { PostgresServer } from '../support/postgres.ts';
import { start } from '../support/service.ts';

t.setTimeout(600_000);

/** Ends the wait for a standby: the server then keeps the change, but the service cannot know. */
const END_WAITS = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;

t.test('a change that is answered with 503 leaves its audit line, too', async (t) => {
  const server = await PostgresServer.start(t);
  const service = await start(t, {
    ...WITH_OPERATOR,
    SERVICE_STORAGE: 'postgres',
    SERVICE_SECRET: 's'.repeat(32),
    SERVICE_DATABASE_URL: await server.database(),
    SERVICE_REPORT_URL: 'builtin',
  });
  const { url } = service;
  const feed = new FeedClient(url, 'smew', { 'x-feed-password': 'old' });
  const { read_url } = (await feed.post()).json;
  const target = read_url.replace('/feed.xml', '');
  await new Browser(url).submit('/report', { target, reason: 'spam', contact: '' });
  const [report] = (await operate(url, 'GET', '/reports')).json.reports;

  await server.sql('postgres', `ALTER SYSTEM SET synchronous_standby_names = 'away'`);
  await server.sql('postgres', 'SELECT pg_reload_conf()');
  for (const [method, path, body] of [
    ['PUT', '/feeds/smew/password', { password: 'new' }],
    ['DELETE', '/feeds/smew/password'],
    ['PUT', '/blocks/smew'],
    ['DELETE', '/blocks/smew'],
    ['DELETE', `/reports/${report.id}`],
  ] as const) {
    let isAnswered = false;
    const asked = operate(url, method, path, body).finally(() => (isAnswered = true));
    await eventually(async () => {
      await server.sql('postgres', END_WAITS);
      return isAnswered;
    });
    t.match(await asked, { status: 503, json: { code: 'store_unavailable' } }, path);
  }
  t.equal((await new FeedClient(url, 'smew').list()).status, 200, 'they are stored');
  t.strictSame((await operate(url, 'GET', '/reports')).json.reports, []);

  const audit = service.lines.filter(({ fields }) => fields.audit === true).map(({ fields }) => fields.what);
  t.strictSame(audit, ['change password', 'remove password', 'block name', 'unblock name', 'dismiss report']);
});

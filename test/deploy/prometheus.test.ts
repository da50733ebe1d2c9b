/** A real Prometheus scrapes the service under load and answers every query of the dashboard and of the alerts. */
import { globSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { missing } from '../support/installed.ts';
import { picture } from '../support/pictures.ts';
import { filledQuery, Prometheus, readDashboard } from '../support/prometheus.ts';
import { ask, post, start, tempDir } from '../support/service.ts';

const TOKEN = 'a-token-of-metrics';
const SETTINGS = {
  SERVICE_METRICS: '1',
  SERVICE_METRICS_TOKEN: TOKEN,
  SERVICE_STORAGE: 'sqlite',
  SERVICE_SECRET: 'a secret of tests that is long enough',
  SERVICE_IMAGES: 'fs',
};

/** The limit at the end of an alert. */
const COMPARISON = / ([<>]|==) (?=[\d.* ]+\s*$)/;

const alertRules = readFileSync(join(import.meta.dirname, '../../deploy/prometheus/alerts.yml'), 'utf8');
const alerts: { alert: string; expr: string }[] = parse(alertRules).groups[0].rules;
const { panels, annotations } = await readDashboard();
const dashboardQueries = panels.flatMap(({ title, targets }) =>
  targets.map(({ expr, legendFormat }) => ({ what: `${title}: ${legendFormat}`, expr })),
);

t.test('the operations that queries name are there', async (t) => {
  const folder = join(import.meta.dirname, '../../src/routes');
  const routes = globSync('*.ts', { cwd: folder }).map((file) => readFileSync(join(folder, file), 'utf8'));
  const queries = [...dashboardQueries, ...alerts].map(({ expr }) => expr);
  const named = queries.flatMap((query) => /operation=~"([^"]*)"/.exec(query)?.[1]?.split('|') ?? []);
  t.ok(named.length > 0);
  for (const id of new Set(named))
    t.ok(
      routes.some((text) => text.includes(`'${id}'`)),
      id,
    );
});

t.test('each query answers, with at least one number', { skip: missing('prometheus') }, async (t) => {
  const dir = await tempDir(t);
  await writeFile(join(dir, '.backup-done'), '');
  const { url } = await start(t, SETTINGS, dir);
  const prometheus = await Prometheus.start(t, { url, token: TOKEN, interval: '200ms' });

  const first = await post(`${url}/a-feed`, picture('png', 100_000), { 'content-type': 'image/png' });
  await EventStream.open(t, `${url}/api/v1/feeds/a-feed/events`);
  // A picture that is gone from its store is a failure of the store.
  await rm(join(dir, 'images'), { recursive: true });
  const work = async () => {
    await post(`${url}/a-feed`, 'a text');
    await post(`${url}/a-feed`, picture('png', 100_000), { 'content-type': 'image/png' });
    for (let i = 0; i < 5; i++) await ask(first.json.read_url);
    await ask(first.json.file_url);
    await ask(`${url}/a/b/c`);
  };

  // As Grafana sends them, and the alerts as numbers: 1 if they are to fire, else 0.
  const queries = [
    ...dashboardQueries.map(({ what, expr }) => ({ what, query: filledQuery(expr, '5s') })),
    ...alerts.map(({ alert, expr }) => ({ what: alert, query: expr.replace(COMPARISON, ' $1 bool ') })),
  ];
  for (const { alert, expr } of alerts) t.match(expr, COMPARISON, alert);
  const left = new Map(queries.map(({ what, query }) => [what, query]));
  t.equal(left.size, queries.length);
  await eventually(async () => {
    await work();
    for (const [what, query] of left) {
      const answer = await prometheus.query(query);
      if (answer.some(({ values }) => values.every(([, value]) => Number.isFinite(value)))) left.delete(what);
    }
    return left.size === 0;
  });
  t.strictSame([...left], []);
  // Marks are there only when an alert has fired.
  for (const { expr } of annotations.list) t.ok(await prometheus.query(expr), expr);
  const health = await prometheus.alertHealth();
  t.strictSame(
    [...health],
    alerts.map(({ alert }) => [alert, 'ok']),
  );
});

/** The rules of `deploy/prometheus/` as Prometheus' own tool sees them. */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { missing, program } from '../support/installed.ts';

const FOLDER = join(import.meta.dirname, '../../deploy/prometheus');
const skip = missing('promtool');

interface Alert {
  readonly alert: string;
  readonly for?: string;
  readonly labels: { readonly severity?: string };
  readonly annotations: { readonly summary?: string };
}

const read = (file: string) => parse(readFileSync(join(FOLDER, file), 'utf8'));
const alerts: Alert[] = read('alerts.yml').groups.flatMap(({ rules }: { rules: Alert[] }) => rules);

/** What promtool says of the files in that folder; undefined if it has no complaint. */
function complaint(folder: string, ...words: string[]): string | undefined {
  const { status, stdout, stderr } = spawnSync(program('promtool'), words, { cwd: folder, encoding: 'utf8' });
  return status === 0 ? undefined : stdout + stderr;
}

t.test('the configuration and the rules are valid', { skip }, async (t) => {
  const folder = t.testdir();
  cpSync(FOLDER, folder, { recursive: true });
  writeFileSync(join(folder, 'metrics_token'), 'a token');
  t.equal(complaint(folder, 'check', 'config', 'prometheus.yml'), undefined);
  t.equal(complaint(folder, 'check', 'rules', '--lint=all', '--lint-fatal', 'alerts.yml'), undefined);
});

t.test('each alert fires when it should, and none in a healthy hour', { skip }, async (t) => {
  t.equal(complaint(FOLDER, 'test', 'rules', 'alerts.test.yml'), undefined);
});

t.test('each alert waits, has a severity and says what to do, and is seen firing by the test', async (t) => {
  const tested = readFileSync(join(FOLDER, 'alerts.test.yml'), 'utf8');
  for (const { alert, labels, annotations, ...rule } of alerts) {
    t.match(rule.for, /^\d+[mh]$/, alert);
    t.match(labels.severity, /^(critical|warning)$/, alert);
    t.match(annotations.summary, /: .*\b(look|make|raise|give|set)\b/, alert);
    t.ok(tested.includes(`{alertname="${alert}",alertstate="firing"`), alert);
  }
});

t.test('the documents explain each alert', async (t) => {
  const page = readFileSync(join(FOLDER, '../../docs/deploy.md'), 'utf8');
  for (const { alert } of alerts) t.ok(page.includes(`\`${alert}\``), alert);
});

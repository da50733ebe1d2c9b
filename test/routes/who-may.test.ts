/** docs/access.md, "Who may", says which credential opens what; every operation is asked with every credential. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import type { OperationParts } from '../../src/routes/operation.ts';
import { operations } from '../../src/routes/operations.ts';
import { OAuthClient } from '../support/oauth-client.ts';
import { start } from '../support/service.ts';

const PASSWORD = 'let us in';
const METRICS_TOKEN = 'a token for the metrics';

/** The rows by how they begin, and the kinds of operations that they are about. */
const ROWS: Readonly<Record<string, readonly string[]>> = {
  'Read links': ['public'],
  'Requests by the name': ['reader', 'poster', 'writer'],
  'The tools': ['assistant'],
  '`/metrics`': ['metrics'],
};
/** Rows and columns that other tests cover. */
const ELSEWHERE = { rows: ['Pages', '`/api/operator/…`'], columns: ['session', 'operator token'] };

const page = readFileSync(new URL('../../docs/access.md', import.meta.url), 'utf8');
const cells = (line: string) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const [head = [], , ...rows] = page
  .slice(page.indexOf('| What it opens |'))
  .split('\n\n')[0]!
  .split('\n')
  .map(cells);

const { url } = await start(t, {
  SERVICE_PASSWORD: PASSWORD,
  SERVICE_METRICS: '1',
  SERVICE_METRICS_TOKEN: METRICS_TOKEN,
  SERVICE_REPORT_URL: 'builtin',
});
const client = await OAuthClient.register(url);
const { json } = await client.exchange(await client.code(PASSWORD));
const CREDENTIALS: Readonly<Record<string, string | undefined>> = {
  'nothing sent': undefined,
  password: PASSWORD,
  'access token': json.access_token,
  'metrics token': METRICS_TOKEN,
};

t.test('the table is the one that is looked for', async (t) => {
  t.same(head.slice(1).sort(), [...Object.keys(CREDENTIALS), ...ELSEWHERE.columns].sort());
  for (const [name = ''] of rows)
    t.ok(
      [...Object.keys(ROWS), ...ELSEWHERE.rows].some((start) => name.startsWith(start)),
      name,
    );
});

const table = operations({ site: { takesReports: true } } as OperationParts);
for (const [start, kinds] of Object.entries(ROWS)) {
  const row = rows.find(([name]) => name!.startsWith(start)) ?? [];
  t.test(start, async (t) => {
    const some = table.filter(({ access }) => kinds.includes(access));
    t.ok(some.length > 0);
    for (const { id, method, path } of some)
      for (const [credential, token] of Object.entries(CREDENTIALS)) {
        const opens = row[head.indexOf(credential)] === 'yes';
        const { status, body } = await fetch(`${url}${path.replace(/\{(\w+)\}/g, 'unknown')}`, {
          method,
          redirect: 'manual',
          headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        });
        // A stream of events does not end by itself.
        await body?.cancel();
        t.equal(status !== 401, opens, `${id}: ${credential}, ${status}`);
      }
  });
}

/** Previews of texts on which the parser takes minutes end when nobody waits for them. */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { isIdle, renderingTasks } from '../support/rendering.ts';
import { start } from '../support/service.ts';

const service = await start(t, { SERVICE_METRICS: '1', SERVICE_WORKERS: '2' });

t.setTimeout(600_000);

const preview = (text: string): ClientRequest => {
  const sent = request(`${service.url}/api/v1/feeds/key/preview`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  sent.on('error', () => undefined).end(JSON.stringify({ text }));
  return sent;
};

async function answer(sent: ClientRequest): Promise<{ status: number | undefined; json: { code?: string } }> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, json: JSON.parse(await textOf(response)) };
}

/** Takes minutes. */
const slow = (name: string) =>
  [name, '', ...Array.from({ length: 30 }, (_, n) => `${'>'.repeat(30 - n)}a`)].join('\n');

/** Whether the text is tried on the slowest threads, which takes seconds at least. */
const isTried = () => eventually(async () => (await renderingTasks(service)).slowestParsing === 1);
const isOver = () => eventually(async () => isIdle(await renderingTasks(service)));

t.test('a client has one preview at a time: the newest', async (t) => {
  let tries = 0;
  // On a busy machine the first may reach its limit before the newest comes.
  const isRefused = await eventually(async () => {
    tries += 1;
    const first = answer(preview(slow(`first ${tries}`)));
    t.ok(await isTried());
    const newest = `*newest ${tries}*${' word'.repeat(100)}`;
    t.match(await answer(preview(newest)), { status: 200, json: { html: /<em>newest/ } });
    const { status, json } = await first;
    return status === 503 && json.code === 'busy';
  });
  t.ok(isRefused);
  t.ok(await isOver());
});

t.test('a text that is too long for a note has no preview', async (t) => {
  t.match(await answer(preview('x'.repeat(102_401))), { status: 413, json: { code: 'too_large' } });
  t.match(await answer(preview('x'.repeat(102_400))), { status: 200 });
});

t.test('the preview of a client that leaves is given up', async (t) => {
  // A text that had reached its limit would not be tried again.
  for (let i = 0; i < 2; i++) {
    const sent = preview(slow('left'));
    t.ok(await isTried());
    sent.destroy();
    t.ok(await isOver());
  }
});

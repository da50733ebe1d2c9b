/** An image store that takes long to compare with the notes. */
import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { imageSettings, ON_SQLITE, OPERATOR_TOKEN } from '../support/image-settings.ts';
import { ask, start } from '../support/service.ts';

const EMPTY = '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>';

/** Lists of objects that the store has not answered yet. Others it answers at once: with those of one object it tells the time. */
const held: ServerResponse[] = [];
let lists = 0;
const store = createServer(({ url = '' }, answer) => {
  if (new URLSearchParams(url.split('?')[1]).get('max-keys') === '1') {
    answer.end(EMPTY);
    return;
  }
  lists += 1;
  held.push(answer);
});
await once(store.listen(0, '127.0.0.1'), 'listening');
t.teardown(() => {
  store.closeAllConnections();
  store.close();
});
const { port: storePort } = store.address() as AddressInfo;
const endpoint = `http://127.0.0.1:${storePort}`;
const keys = { accessKey: 'access', secretKey: 'secret' };
const place = { kind: 's3', endpoint, bucket: 'notes', region: 'us-east-1', ...keys } as const;
const service = await start(t, { ...ON_SQLITE, ...imageSettings(place) });

/** Sends a request to compare. Settles once the service has it; the result is its answer. */
async function compare(method: 'GET' | 'DELETE') {
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
  const sent = request(`${service.url}/api/operator/images/unreferenced`, { method, headers, agent: false });
  sent.end();
  const answer = once(sent, 'response').then(([reply]) => json(reply));
  await once(sent, 'finish');
  // The service receives each of them in a later turn of its event loop than what was sent before.
  for (let n = 0; n < 3; n += 1) await ask(`${service.url}/health`);
  return () => answer;
}

async function answerNext(): Promise<void> {
  await eventually(() => held.length > 0);
  held.shift()!.end(EMPTY);
}

t.test('requests for the same share one comparison, and others wait for its end', async (t) => {
  const first = await compare('GET');
  await eventually(() => lists === 1);
  const others = [await compare('GET'), await compare('DELETE'), await compare('DELETE')];
  t.equal(lists, 1);
  await answerNext();
  t.strictSame(await first(), await others[0]!());
  await answerNext();
  const [removed] = await Promise.all(others.slice(1).map((answer) => answer()));
  t.match(removed, { store: 's3', deleted: { count: 0 }, missing: 0 });
  t.equal(lists, 2);
  t.equal(service.lines.filter(({ fields }) => fields.audit === true).length, 1);
});

t.test('a request after its end compares anew', async (t) => {
  const before = lists;
  const again = await compare('GET');
  await answerNext();
  t.match(await again(), { store: 's3', missing: 0 });
  t.equal(lists, before + 1);
});

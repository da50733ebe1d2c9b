/** What the proxies answer while they cannot reach the service. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import { startCaddy } from '../support/caddy.ts';
import { missing } from '../support/installed.ts';
import { startNginx } from '../support/nginx.ts';
import { ask } from '../support/service.ts';

const PAGE = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const POST = { method: 'POST', body: 'x' };
const MAYBE_STORED = 'The service does not answer. What you sent may be stored all the same.';

/** Listens where the service would, takes the first bytes of each connection and closes it. */
async function listen(t: Test, host: string, port: number): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.destroy()));
  await once(server.listen(port, host), 'listening');
  t.teardown(() => server.close());
  return (server.address() as { port: number }).port;
}

/** The answers while nothing listens, and once something does that takes requests and breaks off. */
async function check(t: Test, url: string, startService: () => Promise<unknown>): Promise<void> {
  const sentence = async (init: RequestInit) => {
    const { status, headers, json } = await ask(`${url}/secret-feed`, init);
    t.match([status, headers.get('content-type')], [502, /^application\/json/]);
    t.match([headers.get('cache-control'), headers.get('vary')], ['no-store', 'Accept']);
    t.equal(json.code, 'store_unavailable');
    return json.error;
  };
  t.equal(await sentence({}), 'The service does not answer. Try again in a moment.');
  t.equal(await sentence(POST), 'The service does not answer. Nothing was sent to it.');
  const page = await ask(`${url}/secret-feed`, { headers: PAGE });
  t.match([page.status, page.headers.get('content-type')], [502, 'text/html; charset=utf-8']);
  t.match(page.text, /^<!doctype html>.*<p>The service does not answer\. Try again in a moment\.<\/p>/);
  await startService();
  t.equal(await sentence({}), 'The service does not answer. Try again in a moment.');
  t.equal(await sentence(POST), MAYBE_STORED);
  t.match((await ask(`${url}/secret-feed`, { ...POST, headers: PAGE })).text, `<p>${MAYBE_STORED}</p>`);
}

t.test('nginx', { skip: missing('nginx') }, async (t) => {
  const network = `127.${randomInt(1, 255)}.${randomInt(256)}`;
  const { url } = await startNginx(t, network);
  await check(t, url, () => Promise.all([11, 12, 13].map((place) => listen(t, `${network}.${place}`, 3000))));
});

t.test('Caddy', { skip: missing('caddy') }, async (t) => {
  const host = `127.${randomInt(1, 255)}.${randomInt(256)}.1`;
  const { url } = await startCaddy(t, `${host}:3000`);
  await check(t, url, () => listen(t, host, 3000));
});

/** One service behind Caddy, as deploy/Caddyfile has it. */
import t from 'tap';
import { startCaddy } from '../support/caddy.ts';
import { EventStream } from '../support/event-stream.ts';
import { readIdIn } from '../support/feed-client.ts';
import { missing } from '../support/installed.ts';
import { picture } from '../support/pictures.ts';
import { ask, post, start } from '../support/service.ts';

const LIMIT = 5;

t.test('through Caddy', { skip: missing('caddy') }, async (t) => {
  const service = await start(t, { SERVICE_TRUST_PROXY: '1', SERVICE_RATE_LIMIT: String(LIMIT) });
  const caddy = await startCaddy(t, new URL(service.url).host);
  const { url } = caddy;

  const posted = await post(`${url}/secret-feed`, 'Hello', { 'x-note-title*': "UTF-8''caf%C3%A9" });
  t.equal(posted.status, 201);
  t.ok(posted.json.read_url.startsWith(`${url}/r/`), 'links have the address of the proxy');
  const readId = readIdIn(posted.json.read_url);

  const image = picture('png', 5 * 1024 * 1024);
  const shown = await post(`${url}/secret-feed`, image, { 'content-type': 'image/png' });
  t.ok((await ask(shown.json.file_url)).bytes.equals(image), 'a picture comes back byte for byte');

  const rss = await ask(posted.json.read_url);
  t.equal(rss.headers.get('content-encoding'), 'gzip', 'compressed by the service');
  t.ok(rss.text.includes('café'));
  const again = { headers: { 'if-none-match': rss.headers.get('etag')! } };
  t.equal((await ask(posted.json.read_url, again)).status, 304);

  const events = await EventStream.open(t, `${url}/r/${readId}/events`);
  await post(`${url}/secret-feed`, 'Another');
  t.ok(await events.hears(1), 'an event passes while the stream is open');
  events.close();

  const statuses: number[] = [];
  for (let i = 0; i <= LIMIT; i += 1)
    statuses.push((await post(`${url}/knot`, 'x', { 'x-forwarded-for': `192.0.2.${i}` })).status);
  t.equal(statuses.at(-1), 429, 'a client is known by its address, whatever it says of itself');

  await service.stop();
  const refused = await ask(`${url}/secret-feed`);
  t.match([refused.status, refused.json.code], [502, 'store_unavailable']);
  for (const secret of ['secret-feed', readId])
    t.notOk(caddy.logged().includes(secret), 'the log has no address');
});

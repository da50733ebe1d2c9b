import t from 'tap';
import { ask, post, start } from './support/service.ts';

t.test('a proxy in front of a service that does not trust it is logged once', async (t) => {
  const service = await start(t);
  const { json } = await post(`${service.url}/key`, 'x');
  const warnings = () => service.lines.filter(({ level }) => level === 'warn');
  t.strictSame(warnings(), []);
  const headers = { 'x-forwarded-for': '192.0.2.7' };
  // The first one fills the cache, which answers the others.
  for (let i = 0; i < 3; i += 1) t.equal((await ask(json.read_url, { headers })).status, 200);
  t.match(warnings(), [{ message: /X-Forwarded-For.*SERVICE_TRUST_PROXY=1/ }]);
  t.notMatch(JSON.stringify(warnings()), '192.0.2.7');
  const trusting = await start(t, { SERVICE_TRUST_PROXY: '1' });
  t.equal((await ask(trusting.url, { headers })).status, 200);
  await post(`${trusting.url}/key`, 'x', headers);
  t.notOk(trusting.lines.some(({ level }) => level === 'warn'));
});

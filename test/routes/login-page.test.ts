/** The pages of an instance with a password lead to the login page, which says how to post. */
import t from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { ask, start } from '../support/service.ts';

t.test('a locked instance leads to its login page', async (t) => {
  const { url } = await start(t, { SERVICE_PASSWORD: 'let us in' });
  const page = await ask(`${url}/`);
  t.equal(page.status, 303);
  t.equal(page.headers.get('location'), '/login?next=%2F');
  const login = await ask(`${url}/login?next=%2F`);
  t.equal(login.status, 200);
  t.match(login.text, /Authorization: Bearer/);
  t.notMatch(login.text, /let us in/);
});

t.test('an open instance shows its start page, and needs no login page', async (t) => {
  const { url } = await start(t);
  const page = await ask(`${url}/`);
  t.equal(page.status, 200);
  t.notMatch(page.text, /Authorization/);
  t.equal((await ask(`${url}/login`)).headers.get('location'), '/');
  const login = await new Browser(url).submit('/api/login', { password: 'x', next: '/otter' });
  t.strictSame([login.headers.get('location'), login.headers.getSetCookie()], ['/otter', []]);
});

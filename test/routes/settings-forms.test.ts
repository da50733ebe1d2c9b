/** The settings page and its forms, without JavaScript (contract §8). */
import t from 'tap';
import { Browser } from '../support/cookie-browser.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { start } from '../support/service.ts';

t.setTimeout(600_000);

const service = await start(t, { SERVICE_TRUST_PROXY: '1', SERVICE_RATE_LIMIT: '9' });
const { url } = service;

let feeds = 0;

async function newFeed(headers: Record<string, string> = {}) {
  feeds += 1;
  const name = `avocet-${feeds}`;
  const owner = new FeedClient(url, name, { 'x-forwarded-for': `10.6.0.${feeds}`, ...headers });
  await owner.post();
  await owner.set({ title: 'Old title', description: 'Old description', show_sender: true });
  return { name, owner, browser: new Browser(url) };
}

/** The hidden fields of the form of a page that has a certain text. */
function hiddenFields(page: string, text: string): Record<string, string> {
  const form = page.split('<form ').find((one) => one.split('</form>')[0]!.includes(text)) ?? '';
  const fields = form.split('</form>')[0]!.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  return Object.fromEntries([...fields].map(([, name, value]) => [name, value]));
}

t.test('a form changes what is in it, and nothing else', async (t) => {
  const { name, owner, browser } = await newFeed();
  const before = (await owner.get()).json;
  for (const [fields, changed] of [
    [{ title: 'New & title' }, { title: 'New & title' }],
    [{ description: '' }, { description: '' }],
    [
      { title: '', description: 'New' },
      { title: '', description: 'New' },
    ],
    [
      { show_sender: '0', listed: '1' },
      { show_sender: false, listed: true },
    ],
    [
      { show_sender: '1', was_listed: '0', listed: '0', read_id: `${name}-link`, sure: '1' },
      { show_sender: true, listed: true, read_url: `${url}/r/${name}-link/feed.xml` },
    ],
    [{}, {}],
  ] as [Record<string, string>, object][]) {
    const reply = await browser.submit(`/${name}/details`, fields);
    t.equal(reply.status, 303);
    t.equal(reply.headers.get('location'), `/${name}/settings?saved=1`);
    Object.assign(before, changed);
    t.match((await owner.get()).json, changed);
    t.same((await owner.get()).json.title, before.title);
    t.same((await owner.get()).json.description, before.description);
  }
  t.match((await browser.visit(`/${name}/settings?saved=1`)).text, /role="status">Saved/);
  t.match((await browser.visit(`/${name}/settings`)).text, /<title>Settings · Untitled feed · /);
  await browser.submit(`/${name}/details`, { read_id: '', sure: '1' });
  t.match((await owner.get()).json.read_url, /\/r\/[\w-]{22}\/feed\.xml$/);
});

t.test('a refusal shows the page again, with why at the field and what was typed', async (t) => {
  const { name, owner, browser } = await newFeed();
  const other = await newFeed();
  await other.owner.set({ read_id: `${other.name}-link` });
  const before = (await owner.get()).json;
  const long = 'x'.repeat(101);
  for (const [status, field, fields, sentence] of [
    [400, 'title', { title: long, description: 'Typed "text"' }, 'at most 100'],
    [400, 'description', { title: 'Typed', description: 'x'.repeat(501) }, 'at most 500'],
    [400, 'description', { description: 'a\tb' }, 'one line'],
    [400, 'read_id', { read_id: 'X' }, '3 to 64'],
    [400, 'read_id', { read_id: 'login' }, 'reserved'],
    [409, 'read_id', { read_id: `${other.name}-link`, sure: '1' }, 'another feed'],
  ] as [number, string, Record<string, string>, string][]) {
    const reply = await browser.submit(`/${name}/details`, fields);
    t.match(reply, { status, text: new RegExp(`name="${field}"[^\n]*role="alert">[^<]*${sentence}`) }, field);
    t.equal(reply.text.match(/role="alert"/g)?.length, 1);
    for (const [name, value] of Object.entries(fields))
      if (name !== 'sure')
        t.ok(reply.text.includes(`value="${value.replaceAll('"', '&quot;')}"`), value.slice(0, 20));
    const json = await new Browser(url).submit(`/${name}/details`, fields, { accept: 'application/json' });
    t.match(json, { status, json: { error: new RegExp(sentence) } });
  }
  t.same((await owner.get()).json, before);
});

t.test('another read id is asked for twice, because it ends all links', async (t) => {
  const { name, owner, browser } = await newFeed();
  const { read_url: readUrl } = (await owner.get()).json;
  for (const readId of ['', `${name}-new`]) {
    const fields = { read_id: readId };
    const asked = await browser.submit(`/${name}/details`, fields);
    t.match(asked, { status: 400, text: /role="alert".*Change all links\?.*name="sure" value="1"/s });
    t.ok(asked.text.includes(`name="read_id" value="${readId}"`));
    t.equal((await owner.get()).json.read_url, readUrl);
    t.match(await new Browser(url).submit(`/${name}/details`, fields, { accept: 'application/json' }), {
      status: 400,
      json: { code: 'invalid_request', error: /sure=1/ },
    });
  }
  const same = { read_id: readIdIn(readUrl) };
  t.equal((await browser.submit(`/${name}/details`, same)).status, 303, 'the same one ends no link');
  const sure = { read_id: '', sure: '1', section: 'sharing' };
  const reply = await browser.submit(`/${name}/details`, sure);
  t.equal(reply.headers.get('location'), `/${name}/settings?saved=1&section=sharing`);
  t.not((await owner.get()).json.read_url, readUrl);
});

t.test('links that were changed since the page was shown are not changed once more', async (t) => {
  const { name, owner, browser } = await newFeed();
  const page = (await browser.visit(`/${name}/settings`)).text;
  const asked = (await browser.submit(`/${name}/details`, { read_id: '' })).text;
  await owner.set({ title: 'Old title', read_id: `${name}-shared` });
  for (const shown of [page, asked]) {
    const fields = hiddenFields(shown, 'name="sure"');
    t.match(await browser.submit(`/${name}/details`, fields), {
      status: 412,
      text: /changed to [^<]*-shared/,
    });
  }
  t.equal(readIdIn((await owner.get()).json.read_url), `${name}-shared`);
  const same = { title: 'Old title', was_title: 'Of another window' };
  t.equal((await browser.submit(`/${name}/details`, same)).status, 303, 'both windows want the same');
  const again = hiddenFields((await browser.visit(`/${name}/settings`)).text, 'name="sure"');
  t.equal((await browser.submit(`/${name}/details`, again)).status, 303);
});

t.test('the page says in its section what was saved, and opens there', async (t) => {
  const { name, browser } = await newFeed();
  const page = (query: string) => browser.visit(`/${name}/settings?${query}`);
  t.match(
    (await page('saved=1&section=keeping')).text,
    /id="keeping".*autofocus role="status">The limits for notes are saved/s,
  );
  for (const section of ['', 'constructor', '%22%3E', 'none'])
    t.match(
      (await page(`saved=1&section=${section}`)).text,
      /<h1>Settings<\/h1>\n<p class="done"[^>]*>Saved\./,
    );
  t.notMatch((await page('section=keeping')).text, /role="status">\w/);
  const wrong = { title: 'x', section: 'https://example.com' };
  const reply = await browser.submit(`/${name}/details`, wrong);
  t.equal(reply.headers.get('location'), `/${name}/settings?saved=1`);
});

t.test('one that is wrong in no field that the page has', async (t) => {
  const { name, browser } = await newFeed();
  const reply = await browser.submit(`/${name}/details`, { show_sender: 'yes' });
  t.match(reply, { status: 400, text: /A part of this request is not valid/ });
  const other = await browser.submit(`/${name}/details`, { listed: 'on' });
  t.match(other, { status: 400, text: /A part of this request is not valid/ });
});

t.test('changes count as writes; over the limit the page says so and keeps what was typed', async (t) => {
  const { name, owner, browser } = await newFeed();
  for (let i = 0; i < 9; i += 1) t.equal((await browser.submit(`/${name}/details`, {})).status, 303);
  const reply = await browser.submit(`/${name}/details`, { title: 'Typed in vain' });
  t.match(reply, {
    status: 429,
    text: /role="alert">You have sent too much in a short time. Try again in \d+ seconds/,
  });
  t.match(reply.text, /value="Typed in vain"/);
  t.match(reply.headers.get('retry-after'), /^\d+$/);
  t.match(await browser.submit(`/${name}/delete`, { name }), { status: 429 });
  t.match((await owner.get()).json, { title: 'Old title' });
  t.match(await browser.submit('/avocet-nowhere/details', {}), { status: 429 });
  const tooLarge = await browser.submit(`/${name}/details`, { title: 'x'.repeat(20_000) });
  t.equal(tooLarge.status, 429, 'the limit comes first');
});

t.test('a feed is deleted by its name, typed exactly', async (t) => {
  const { name, owner, browser } = await newFeed();
  for (const typed of ['', name.toUpperCase(), `${name} `, 'avocet']) {
    const reply = await browser.submit(`/${name}/delete`, { name: typed });
    t.match(reply, { status: 400, text: /name="name"[^\n]*role="alert">Type the name/ }, typed);
  }
  t.equal((await owner.get()).status, 200);
  const reply = await browser.submit(`/${name}/delete`, { name });
  t.equal(reply.status, 303);
  t.equal(reply.headers.get('location'), '/?deleted=1');
  t.equal((await owner.get()).status, 404);
});

t.test('a deletion that is sent twice shows the same page', async (t) => {
  const { name, browser } = await newFeed();
  const typed = () => browser.submit(`/${name}/delete`, { name });
  for (const reply of [...(await Promise.all([typed(), typed(), typed()])), await typed()])
    t.same([reply.status, reply.headers.get('location')], [303, '/?deleted=1']);
  t.equal((await browser.submit(`/${name}/delete`, { name: 'avocet' })).status, 404);
  t.equal((await browser.submit(`/${name}/details`, {})).status, 404);
});

t.test('a page of a feed that is gone deletes no other one of its name', async (t) => {
  const { name, owner, browser } = await newFeed();
  const fields = {
    name,
    ...hiddenFields((await browser.visit(`/${name}/settings`)).text, 'Delete this feed'),
  };
  const deletion = () => browser.submit(`/${name}/delete`, fields);
  t.equal((await deletion()).headers.get('location'), '/?deleted=1');
  await owner.post('of somebody else');
  const refused = await deletion();
  t.match(refused, { status: 412, text: /name="name"[^\n]*role="alert">The feed of this name/ });
  t.equal((await owner.list()).json.notes.length, 1);
  const seen = { name, ...hiddenFields(refused.text, 'Delete this feed') };
  t.equal((await browser.submit(`/${name}/delete`, seen)).status, 303);
  t.equal((await owner.get()).status, 404);
});

t.test('of a locked feed, the forms are its unlock form and change nothing', async (t) => {
  const { name, owner, browser } = await newFeed({ 'x-feed-password': 'ours' });
  for (const path of [`/${name}/details`, `/${name}/delete`]) {
    const reply = await browser.submit(path, { title: 'New', name });
    t.match(reply, { status: 401, text: /value="unlock"/ });
    t.match(reply.text, `name="back" value="/${name}"`);
    t.notMatch(reply.text, /Old|New/);
  }
  t.match((await owner.get()).json, { title: 'Old title' });
  await browser.submit(`/${name}/access`, { action: 'unlock', password: 'ours' });
  t.equal((await browser.submit(`/${name}/details`, { title: 'New' })).status, 303);
  t.match((await owner.get()).json, { title: 'New' });
  const deleted = await browser.submit(`/${name}/delete`, { name });
  t.equal(deleted.headers.get('location'), '/?deleted=1');
  t.equal(browser.cookiesFor(`/${name}`), '', 'its cookies are gone with it');
});

t.test('a feed without notes has no settings yet', async (t) => {
  const { name, owner, browser } = await newFeed();
  const { notes } = (await owner.list()).json;
  await owner.send('DELETE', `/notes/${notes[0].id}`);
  for (const absent of [name, 'avocet-absent']) {
    const page = await browser.visit(`/${absent}/settings`);
    t.match(page, { status: 404, text: new RegExp(`href="/${absent}"`) });
  }
  t.match(await browser.submit('/avocet-absent/details', { title: 'x' }), { status: 404 });
  t.match(await browser.visit('/login/settings'), { status: 404 });
  t.match(await browser.visit('/Avocet/settings'), { status: 400 });
  t.match(await browser.visit('/static'), { status: 400, text: /reserved/ });
});

t.test('on a locked instance, who has no session is led to the login page', async (t) => {
  const { url } = await start(t, { SERVICE_PASSWORD: 'instance word' });
  const owner = new FeedClient(url, 'avocet', { authorization: 'Bearer instance word' });
  await owner.post();
  const browser = new Browser(url);
  for (const form of ['details', 'delete', 'access']) {
    const reply = await browser.submit(`/avocet/${form}`, { title: 'x', name: 'avocet', action: 'lock' });
    t.equal(reply.status, 303);
    t.equal(reply.headers.get('location'), '/login?next=%2Favocet');
  }
  t.match((await owner.get()).json, { title: '' });
  const opened = await browser.submit('/', { feed: 'avocet' });
  t.equal(opened.headers.get('location'), '/login?next=%2F');
  t.equal((await browser.submit('/', { feed: 'avocet' }, { authorization: 'Bearer wrong' })).status, 401);
});

t.test('no log line names a feed', async (t) => {
  const text = JSON.stringify(service.lines);
  t.match(text, /\{feed\}\/details/);
  t.notMatch(text, /avocet|Typed|Old title/);
});

/** Dates of one second do not tell two versions apart, so none is sent until its second is long over. */
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { untilDated } from '../support/eventually.ts';
import { ask, post, type Reply, start } from '../support/service.ts';

const ROUNDS = 10;
const { url } = await start(t);

/** The paths that show a note, with the headers that they need. */
function pathsOf({ id, file, read_url }: Record<string, string>): string[] {
  const read = new URL(read_url!).pathname.replace('/feed.xml', '');
  const api = read.replace('/r/', '/api/v1/read/');
  const byName = [
    '/api/v1/feeds/plover/notes',
    `/api/v1/feeds/plover/notes/${id}`,
    '/plover',
    `/plover/${id}`,
  ];
  const public_ = [read, `${read}/feed.xml`, `${read}/feed.json`, `${read}/${id}`, `${read}/${file}`];
  return [...public_, api, `${api}/notes`, `${api}/notes/${id}`, ...byName];
}

const lastModified = ({ headers }: Reply) => headers.get('last-modified');
const since = (date: string | null) => ({ headers: { 'if-modified-since': date! } });

t.test('two versions of one second', async (t) => {
  const paths = pathsOf((await post(`${url}/plover`, 'before')).json);
  const note = `${url}/plover/${paths.at(-1)!.split('/').at(-1)}`;
  const put = (body: string) =>
    ask(note, { method: 'PUT', body, headers: { 'content-type': 'text/markdown' } });
  let dates: string[] = [];
  for (let round = 0, isOneSecond = false; round < ROUNDS && !isOneSecond; round += 1) {
    await delay(1000 - (Date.now() % 1000));
    const second = Math.floor(Date.now() / 1000);
    await put(`before ${round}`);
    const first = await Promise.all(paths.map((path) => ask(url + path)));
    await put(`after ${round}`);
    isOneSecond = Math.floor(Date.now() / 1000) === second;
    t.same(
      first.map(lastModified).filter((date) => date !== null),
      [],
      'no date yet',
    );
    dates = first.map((reply) => lastModified(reply) ?? reply.headers.get('date')!);
    // Now they are kept.
    await Promise.all(paths.map((path) => ask(url + path)));
  }
  for (const [n, path] of paths.entries())
    t.equal((await ask(url + path, since(dates[n]!))).status, 200, `${path} in its second`);
  await untilDated();
  for (const [n, path] of paths.entries()) {
    t.equal((await ask(url + path, since(dates[n]!))).status, 200, `${path} later`);
    const dated = await ask(url + path);
    t.equal(
      Date.parse(lastModified(dated)!) <= Date.now(),
      true,
      `${path} has got a date: ${lastModified(dated)}`,
    );
    t.equal((await ask(url + path, since(lastModified(dated)))).status, 304, `${path} is unchanged since`);
  }
});

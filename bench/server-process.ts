import { type ChildProcess, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { RecordedAnswer } from './bare-server.ts';

/** Ticks of /proc/<pid>/stat in a second; the same on every Linux. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/** The path of a program of the bench. */
export const program = (name: string) => new URL(name, import.meta.url).pathname;

/** A server in a process of its own, whose standard output somebody reads all the time. */
export class ServerProcess {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #output: Interface;

  private constructor(child: ChildProcess, output: Interface, url: string) {
    this.#child = child;
    this.#output = output;
    this.url = url;
  }

  /** Starts a program of this project and waits for the line of its output that has a `url`. */
  static async start(args: readonly string[], env: Record<string, string> = {}): Promise<ServerProcess> {
    const stdio = ['ignore', 'pipe', 'inherit'] as const;
    const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: [...stdio] });
    const kill = () => child.kill();
    process.once('exit', kill);
    if (!child.stdout) throw new Error('no standard output');
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const output = createInterface({ input: child.stdout }).on('line', (line) => {
      const { url } = JSON.parse(line) as { url?: string };
      if (url) resolve(url);
    });
    child.once('exit', () => {
      process.off('exit', kill);
      reject(new Error(`${args[0]} ended before it listened`));
    });
    return new ServerProcess(child, output, (await promise).replace('0.0.0.0', '127.0.0.1'));
  }

  /** Starts the service with a data folder of its own; as root it stays root, so that every folder will do. */
  static startService(
    dataDir: string,
    env: Record<string, string> = {},
    main = program('../src/main.cjs'),
  ): Promise<ServerProcess> {
    const own = { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', PUID: '0', SERVICE_RATE_LIMIT: '0' };
    return ServerProcess.start([main], { ...own, ...env });
  }

  /** Starts the bare server, whose files are in a folder `bare` that is made in `dir`. */
  static startBare(
    dir: string,
    answers: readonly RecordedAnswer[],
    env?: Record<string, string>,
  ): Promise<ServerProcess> {
    const folder = join(dir, 'bare');
    const recorded = join(dir, 'answers.json');
    mkdirSync(folder);
    writeFileSync(recorded, JSON.stringify(answers));
    return ServerProcess.start([program('./bare-server.ts'), recorded, folder], env);
  }

  /** The next line of its output, all of which is JSON, that has a number of this name. */
  async nextLine<N extends string>(name: N): Promise<Record<N, number>> {
    for await (const [line] of on(this.#output, 'line')) {
      const found = JSON.parse(line);
      if (name in found) return found;
    }
    throw new Error('the server has ended');
  }

  /** Sends the signal that programs may use for themselves. */
  signal(): void {
    this.#child.kill('SIGUSR2');
  }

  /** CPU time used so far by all its threads and processes, user and system, in microseconds; counted in steps of 10 ms. */
  cpuMicros(): number {
    const times = this.#family.flatMap((pid) => this.#stat(14, 15, pid));
    return (times.reduce((sum, time) => sum + time, 0) / TICKS_PER_SECOND) * 1e6;
  }

  /** The same of the thread that serves alone. */
  loopMicros(): number {
    const [utime, stime] = this.#stat(14, 15, `${this.#child.pid}/task/${this.#child.pid}`);
    return ((utime + stime) / TICKS_PER_SECOND) * 1e6;
  }

  /** Memory that is resident, in bytes, of all its processes: pages that they share count for each. */
  residentBytes(): number {
    return this.#family.reduce((sum, pid) => sum + this.#stat(24, 24, pid)[0] * PAGE_BYTES, 0);
  }

  /** The most memory that has been resident so far, in bytes. */
  peakBytes(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'latin1');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const exit = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exit;
  }

  /** The server, and the processes that it has started. */
  get #family(): number[] {
    const { pid } = this.#child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
    return [pid!, ...children.split(' ').filter(Boolean).map(Number)];
  }

  /** Two fields of /proc/<pid>/stat by their numbers in proc(5). */
  #stat(first: number, second: number, task: number | string): [number, number] {
    const stat = readFileSync(`/proc/${task}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [Number(fields[first - 3]), Number(fields[second - 3])];
  }
}

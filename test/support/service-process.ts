import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tempDir } from './service.ts';
import { storageSettings } from './storage-settings.ts';

const MAIN = new URL('../../src/main.cjs', import.meta.url).pathname;
const OPEN_AT = /is open at (http:\/\/\S+?)\. /;

interface Scope {
  teardown(fn: () => unknown): void;
}

export interface ProcessOptions {
  /** DATA_DIR; a fresh folder that is removed when the test ends unless given. */
  readonly dir?: string;
  /** Settings beside HOST, PORT (any free one), DATA_DIR and SERVICE_RATE_LIMIT (off). */
  readonly env?: Record<string, string>;
  /** The program that runs the service; this one's own unless given. */
  readonly node?: string;
  /** The entry of another copy of the service. */
  readonly main?: string;
  /** Options of that program. */
  readonly flags?: readonly string[];
  /** A descriptor that becomes standard output, which then stays unread here. */
  readonly stdout?: number;
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The service as its users run it: `node src/main.cjs` in a process of its own. */
export class ServiceProcess {
  readonly dir: string;
  /** Settles when the process is gone and all it wrote is read. */
  readonly exit: Promise<Exit>;
  /** Lines on standard output so far. */
  readonly lines: Record<string, unknown>[] = [];
  readonly #child: ChildProcess;
  readonly #url: Promise<string>;
  #errors = '';
  #address = '';
  #isOver = false;
  #onLine: (() => void)[] = [];

  private constructor(dir: string, child: ChildProcess) {
    this.dir = dir;
    this.#child = child;
    this.exit = once(child, 'close').then(([code, signal]) => ({ code, signal }));
    const url = Promise.withResolvers<string>();
    this.#url = url.promise;
    this.#url.catch(() => {});
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
      const address = OPEN_AT.exec(this.#errors)?.[1];
      if (address !== undefined) url.resolve(address);
    });
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => this.#took(line));
    this.exit.then(() => {
      this.#isOver = true;
      url.reject(new Error(`The service ended before it listened: ${this.#errors}`));
      this.#woken();
    });
  }

  /** Starts a process, which may fail to become a service; killed when the test ends. */
  static async launch(t: Scope, options: ProcessOptions = {}): Promise<ServiceProcess> {
    const { env = {}, node = process.execPath, main = MAIN, flags = [], stdout = 'pipe' } = options;
    const dir = options.dir ?? (await dataDir(t));
    // A process that npm started stops with its parent and takes two signals for one.
    const { npm_lifecycle_event: _, ...inherited } = process.env;
    // The test runner puts itself into every Node that it sees start, and would write files as another user.
    const address = { HOST: '127.0.0.1', PORT: '0', DATA_DIR: dir, ...(await storageSettings(dir)) };
    const child = spawn('env', ['-u', 'NODE_OPTIONS', node, ...flags, main], {
      env: { ...inherited, ...address, SERVICE_WORKERS: '1', SERVICE_RATE_LIMIT: '0', ...env },
      stdio: ['ignore', stdout, 'pipe'],
    });
    const service = new ServiceProcess(dir, child);
    t.teardown(() => service.kill('SIGKILL'));
    return service;
  }

  /** Starts the service and waits until it listens. */
  static async start(t: Scope, options: ProcessOptions = {}): Promise<ServiceProcess> {
    const service = await ServiceProcess.launch(t, options);
    service.#address = await service.#url;
    return service;
  }

  /** Its address, without a slash at the end. */
  get url(): string {
    return this.#address;
  }

  get port(): number {
    return Number(new URL(this.#address).port);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Everything on standard error so far. */
  get errors(): string {
    return this.#errors;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends a signal and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<Exit> {
    this.signal(signal);
    return this.exit;
  }

  /** Waits for a line on standard output with that message. */
  async says(message: string): Promise<void> {
    while (!this.lines.some(({ msg }) => msg === message)) {
      // What it wrote last may be read after its end.
      if (this.#isOver) throw new Error(`The service ended without saying "${message}": ${this.#errors}`);
      await new Promise<void>((resolve) => this.#onLine.push(resolve));
    }
  }

  #took(line: string): void {
    this.lines.push(JSON.parse(line));
    this.#woken();
  }

  #woken(): void {
    for (const wake of this.#onLine.splice(0)) wake();
  }
}

/** A folder for data that a service which gives up being root can reach; removed when the test ends. */
export async function dataDir(t: Scope): Promise<string> {
  const parent = await tempDir(t);
  await chmod(parent, 0o755);
  return join(parent, 'data');
}

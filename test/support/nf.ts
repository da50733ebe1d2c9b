/** The client for the terminal as an instance serves it, run by several shells. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { missing, program } from './installed.ts';
import { tempDir } from './service.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

interface Shell {
  readonly name: string;
  readonly command: readonly string[];
  /** For tap's `skip`. */
  readonly skip: string | false;
  /** Its own programs are found before those of the system, but for curl. */
  readonly hasPrograms?: boolean;
}

export const SHELLS: readonly Shell[] = [
  { name: 'dash', command: [program('dash')], skip: missing('dash') || missing('curl') },
  {
    name: 'busybox',
    command: [program('busybox'), 'sh'],
    skip: missing('busybox') || missing('curl'),
    hasPrograms: true,
  },
  { name: 'bash', command: [program('bash'), '--posix'], skip: missing('bash') || missing('curl') },
  // Here printf is no builtin, as in the shells of OpenBSD and Android.
  { name: 'mksh', command: [program('mksh')], skip: missing('mksh') || missing('curl') },
];

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly bytes: Buffer;
  readonly errors: string;
}

interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly env?: Record<string, string>;
}

/** A person's client: their folder of settings, and the script. */
export class Client {
  /** Where the script runs. */
  readonly dir: string;
  readonly file: string;
  readonly #shell: Shell;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(dir: string, shell: Shell, path: string) {
    this.dir = dir;
    this.file = join(dir, 'nf');
    this.#shell = shell;
    const { PATH: _, LC_ALL: _all, EDITOR: _editor, VISUAL: _visual, ...env } = process.env;
    this.#env = { ...env, PATH: path, XDG_CONFIG_HOME: join(dir, 'config'), TMPDIR: join(dir, 'tmp') };
  }

  /** Downloads the client from the instance and installs it. @param host sent as `Host`, if it is not that of the URL */
  static async install(t: Scope, url: string, shell: Shell, host?: string): Promise<Client> {
    const dir = await tempDir(t);
    const own = join(dir, 'programs');
    for (const folder of [own, join(dir, 'tmp')]) await mkdir(folder);
    if (shell.hasPrograms) spawnSync(program('busybox'), ['--install', '-s', own]);
    const client = new Client(dir, shell, `${own}:${process.env.PATH}`);
    const asHost = host === undefined ? [] : ['-H', `Host: ${host}`];
    const curl = spawn(program('curl'), ['-fsS', ...asHost, '-o', client.file, `${url}/static/nf`]);
    await once(curl, 'close');
    return client;
  }

  /** Installs it, and remembers a feed as `work`. */
  static async of(t: Scope, url: string, shell: Shell, feed: string, password = ''): Promise<Client> {
    const client = await Client.install(t, url, shell);
    const { code, errors } = await client.run(['login', 'work'], { input: `${feed}\n${password}\n\n` });
    if (code !== 0) throw new Error(errors);
    return client;
  }

  start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
    const [command = '', ...first] = this.#shell.command;
    return spawn(command, [...first, this.file, ...args], { cwd: this.dir, env: { ...this.#env, ...env } });
  }

  async run(args: readonly string[], { input = '', env = {} }: RunOptions = {}): Promise<Outcome> {
    const child = this.start(args, env);
    child.stdin!.on('error', () => {}).end(input);
    return outcomeOf(child);
  }

  /** Runs it in a terminal, which gets each text when what comes before it is shown; a function is called first, and returns the text. */
  async inTerminal(
    args: readonly string[],
    ...typed: readonly (readonly [string, string | (() => Promise<string>)])[]
  ) {
    const words = [...this.#shell.command, this.file, ...args].map((word) => `'${word}'`);
    const line = ['-qefc', words.join(' '), '/dev/null'];
    const child = spawn(program('script'), line, { cwd: this.dir, env: { ...this.#env, SHELL: '/bin/sh' } });
    let shown = '';
    const waiting = [...typed];
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      shown += piece;
      const next = waiting[0];
      if (next === undefined || !shown.includes(next[0])) return;
      waiting.shift();
      const said = next[1];
      if (typeof said === 'string') child.stdin.write(said);
      else void said().then((text) => child.stdin.write(text));
    });
    const [code] = await once(child, 'close');
    return { code, shown };
  }

  /** Replaces what it remembers. */
  async remember(lines: string): Promise<void> {
    await mkdir(dirname(this.#feeds), { recursive: true });
    await writeFile(this.#feeds, lines);
  }

  /** The file of what it remembers. */
  remembered(): Promise<string> {
    return readFile(this.#feeds, 'utf8');
  }

  get #feeds(): string {
    return join(this.dir, 'config/note-feed/feeds');
  }

  write(file: string, bytes: string | Uint8Array): Promise<void> {
    return writeFile(join(this.dir, file), bytes);
  }

  /** Its temporary files. */
  temporary(): Promise<string[]> {
    return readdir(join(this.dir, 'tmp'), { recursive: true });
  }

  /** Files that it has left, but for what it remembers. */
  async left(): Promise<string[]> {
    const temporary = await this.temporary();
    const kept = await readdir(join(this.dir, 'config/note-feed')).catch(() => []);
    return [...temporary, ...kept.filter((name) => name !== 'feeds')];
  }
}

export async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  const closed = once(child, 'close');
  const pieces: Buffer[] = [];
  child.stdout!.on('data', (piece) => pieces.push(piece));
  const errors = await text(child.stderr!);
  const [code] = await closed;
  const bytes = Buffer.concat(pieces);
  return { code, out: bytes.toString(), bytes, errors };
}

/** A server in the place of a service. Returns its host, to which a client can belong. */
export async function hostOf(t: Scope, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { missing, program } from './installed.ts';

const run = promisify(execFile);

interface Scope {
  teardown(fn: () => unknown): void;
}

/** For tap's `skip`: why there can be no network namespace, or false. */
export const noNamespaces: string | false = process.getuid?.() === 0 ? missing('ip') : 'needs root';

/** An address of the link layer that nobody has: what is sent to it arrives nowhere. */
const NOBODY = '02:00:00:00:00:99';

/**
 * A network namespace behind a link of its own, in which a process can be started, and whose packets to one address of
 * this side can be dropped, in silence, without touching any other.
 */
export class NetworkNamespace {
  readonly #name: string;
  /** Addresses of this side. */
  readonly here: string;
  readonly droppable: string;
  /** The address inside. */
  readonly inside: string;

  private constructor(name: string, net: string) {
    this.#name = name;
    this.here = `${net}.1`;
    this.inside = `${net}.2`;
    this.droppable = `${net}.3`;
  }

  /** Makes one, which is gone when the test ends. */
  static async create(t: Scope): Promise<NetworkNamespace> {
    const name = `notes${process.pid}`;
    const net = `10.213.${process.pid % 256}`;
    const made = new NetworkNamespace(name, net);
    const [link, peer] = [`no${process.pid}`, `ni${process.pid}`];
    await ip('netns', 'add', name);
    t.teardown(() => ip('netns', 'del', name));
    await ip('link', 'add', link, 'type', 'veth', 'peer', 'name', peer, 'netns', name);
    for (const address of [made.here, made.droppable]) await ip('addr', 'add', `${address}/24`, 'dev', link);
    await ip('link', 'set', link, 'up');
    await made.#ip('addr', 'add', `${made.inside}/24`, 'dev', peer);
    await made.#ip('link', 'set', peer, 'up');
    return made;
  }

  /** The command that starts a program inside. */
  command(program: string): [string, ...string[]] {
    return ['ip', 'netns', 'exec', this.#name, program];
  }

  /** From now on what is sent from inside to `droppable` is lost. */
  async drop(): Promise<void> {
    await this.#ip(
      'neigh',
      'replace',
      this.droppable,
      'lladdr',
      NOBODY,
      'nud',
      'permanent',
      'dev',
      this.#peer,
    );
  }

  async pass(): Promise<void> {
    await this.#ip('neigh', 'del', this.droppable, 'dev', this.#peer);
  }

  get #peer(): string {
    return `ni${this.#name.slice('notes'.length)}`;
  }

  #ip(...args: string[]): Promise<unknown> {
    return ip('-n', this.#name, ...args);
  }
}

function ip(...args: string[]): Promise<unknown> {
  return run(program('ip'), args);
}

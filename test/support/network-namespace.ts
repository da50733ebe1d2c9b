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

/** Networks of eight addresses in 10.213.0.0/16. */
const NETS = 8_192;
const PREFIX = 29;

type Names = [name: string, link: string, peer: string];

let count = 0;

/**
 * A network namespace behind a link of its own, in which a process can be started, and whose packets to one address of
 * this side can be dropped, in silence, without touching any other.
 */
export class NetworkNamespace {
  readonly #name: string;
  readonly #peer: string;
  /** Addresses of this side. */
  readonly here: string;
  readonly droppable: string;
  /** The address inside. */
  readonly inside: string;

  private constructor(name: string, peer: string, net: number) {
    this.#name = name;
    this.#peer = peer;
    const address = (host: number) => `10.213.${net >> 5}.${((net & 31) << 3) + host}`;
    this.here = address(1);
    this.inside = address(2);
    this.droppable = address(3);
  }

  /** Makes one, which is gone when the test ends. */
  static async create(t: Scope): Promise<NetworkNamespace> {
    // The kernel removes the link of one that is deleted a little later, so the next has other names and addresses.
    count += 1;
    const [name, link, peer] = ['notes', 'no', 'ni'].map((word) => `${word}${process.pid}x${count}`) as Names;
    const made = new NetworkNamespace(name, peer, (4 * process.pid + count) % NETS);
    await ip('netns', 'add', name);
    t.teardown(() => ip('netns', 'del', name));
    await ip('link', 'add', link, 'type', 'veth', 'peer', 'name', peer, 'netns', name);
    for (const address of [made.here, made.droppable])
      await ip('addr', 'add', `${address}/${PREFIX}`, 'dev', link);
    await ip('link', 'set', link, 'up');
    await made.#ip('addr', 'add', `${made.inside}/${PREFIX}`, 'dev', peer);
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

  #ip(...args: string[]): Promise<unknown> {
    return ip('-n', this.#name, ...args);
  }
}

function ip(...args: string[]): Promise<unknown> {
  return run(program('ip'), args);
}

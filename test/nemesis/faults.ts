import { setTimeout as wait } from 'node:timers/promises';
import type { Cluster, Container } from './cluster.ts';
import type { Direction, FaultProxy, Passing } from './fault-proxy.ts';

/** Something that breaks, and how it is mended. */
export interface Fault {
  readonly name: string;
  /** The containers that may not hear of changes meanwhile. */
  readonly hits: readonly Container[];
  /** Connections may stay open that nobody answers on, so a request on one waits for its time limit. */
  readonly leavesDeadConnections: boolean;
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** What the faults are made of. */
export interface Surroundings {
  readonly cluster: Cluster;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Edits notes through some containers. */
  readonly writeThrough: (containers: readonly Container[]) => Promise<void>;
  /** Begins to read all views of some containers. */
  readonly readAll: (containers: readonly Container[]) => void;
}

const DIRECTIONS: readonly (readonly Direction[])[] = [['up', 'down'], ['up'], ['down']];
/** By then what a container knew before it was stopped is too old to be shown, ms. */
const OLD_MS = 2_200;

const oneOf = <T>(random: () => number, some: readonly T[]): T => some[Math.floor(random() * some.length)]!;

/** Every kind of fault by its name. */
export const FAULTS: Readonly<Record<string, (around: Surroundings) => Fault>> = {
  'database link freezes': (around) => onLink(around, 'database', () => ({ kind: 'freeze' })),
  'database link drops bytes': (around) => onLink(around, 'database', () => ({ kind: 'drop' })),
  'database link is slow': (around) =>
    onLink(around, 'database', (random) => ({ kind: 'delay', ms: 50 + 400 * random() })),
  'database link cuts inside messages': (around) =>
    onLink(around, 'database', (random) => ({ kind: 'cut', bytes: Math.floor(600 * random()) })),
  'database link is reset': (around) => onConnections(around, 'database', 'pass'),
  'database refuses connections': (around) => onConnections(around, 'database', 'refuse'),
  'database takes connections in silence': (around) => onConnections(around, 'database', 'silence'),
  'PostgreSQL is frozen': (around) => {
    let thaw = () => {};
    return onAll(around, 'PostgreSQL is frozen', {
      begin: async () => {
        thaw = await around.cluster.freezePostgres();
      },
      end: async () => thaw(),
    });
  },
  'PostgreSQL is killed': (around) =>
    onAll(around, 'PostgreSQL is killed', {
      begin: () => around.cluster.postgres.stop('SIGKILL'),
      end: () => around.cluster.postgres.start(),
    }),
  'a backend is killed': (around) =>
    onAll(around, 'a backend is killed', {
      begin: async () => void (await signalBackend(around, 'SIGKILL')),
      end: async () => {},
    }),
  'a backend is stopped': (around) => {
    let pid = 0;
    return onAll(around, 'a backend is stopped', {
      begin: async () => {
        pid = await signalBackend(around, 'SIGSTOP');
      },
      end: async () => signal(pid, 'SIGCONT'),
    });
  },
  'a container is stopped': (around) => onContainer(around, 'is stopped', stopped),
  'a container is stopped and its link frozen': (around) =>
    onContainer(around, 'is stopped and its link frozen', (around, container) => {
      const { begin, end } = stopped(around, container);
      return {
        begin: async () => {
          container.database.pass(['up', 'down'], { kind: 'freeze' });
          await begin();
        },
        end: async () => {
          await end();
          await wait(300 * around.random());
          await container.database.heal();
        },
      };
    }),
  'a container is killed': (around) =>
    onContainer(around, 'is killed', ({ cluster }, container) => ({
      begin: async () => {
        await container.process.kill('SIGKILL');
      },
      end: () => cluster.restart(container),
    })),
};

/** Those of the network between containers and PostgreSQL. */
export const NETWORK_FAULTS = Object.entries(FAULTS).flatMap(([name, make]) =>
  /^database/.test(name) ? [make] : [],
);

/** Kinds of fault that need an image store. */
export const STORE_FAULTS: typeof FAULTS = {
  'store link freezes': (around) => onLink(around, 'store', () => ({ kind: 'freeze' })),
  'store link drops bytes': (around) => onLink(around, 'store', () => ({ kind: 'drop' })),
  'store link is slow': (around) =>
    onLink(around, 'store', (random) => ({ kind: 'delay', ms: 50 + 400 * random() })),
  'store link cuts inside messages': (around) =>
    onLink(around, 'store', (random) => ({ kind: 'cut', bytes: Math.floor(3_000 * random()) })),
  'store link is reset': (around) => onConnections(around, 'store', 'pass'),
  'store refuses connections': (around) => onConnections(around, 'store', 'refuse'),
  'store takes connections in silence': (around) => onConnections(around, 'store', 'silence'),
  'store is stopped': ({ cluster: { swift } }) =>
    onNone('the store is stopped', {
      begin: async () => swift!.signal('SIGSTOP'),
      end: async () => swift!.signal('SIGCONT'),
    }),
  'store is killed': ({ cluster: { swift } }) =>
    onNone('the store is killed', { begin: () => swift!.kill(), end: () => swift!.start() }),
};

/** Two at once. The last one is mended first: what starts again needs its network. */
export function both(one: Fault, other: Fault): Fault {
  return {
    name: `${one.name}, and ${other.name}`,
    hits: [...one.hits, ...other.hits],
    leavesDeadConnections: one.leavesDeadConnections || other.leavesDeadConnections,
    begin: async () => {
      await one.begin();
      await other.begin();
    },
    end: async () => {
      await other.end();
      await one.end();
    },
  };
}

/** Nothing breaks for a while. */
export function noFault(): Fault {
  const nothing = async () => {};
  return onNone('nothing', { begin: nothing, end: nothing });
}

/** All containers hear of changes all the time. */
function onNone(name: string, acts: Acts): Fault {
  return { name, hits: [], leavesDeadConnections: false, ...acts };
}

type Acts = Pick<Fault, 'begin' | 'end'>;

/** One container, or all. */
function someContainers({ cluster, random }: Surroundings): readonly Container[] {
  return random() < 0.75 ? [oneOf(random, cluster.containers)] : cluster.containers;
}

function named(what: string, containers: readonly Container[]): string {
  return `${what}, containers ${containers.map(({ number }) => number).join(' ')}`;
}

function onLink(
  around: Surroundings,
  link: 'database' | 'store',
  make: (random: () => number) => Passing,
): Fault {
  const { random } = around;
  const containers = someContainers(around);
  const directions = oneOf(random, DIRECTIONS);
  const passing = make(random);
  const proxies = proxiesOf(containers, link);
  return {
    name: named(`${link} ${JSON.stringify(passing)} ${directions.join(' and ')}`, containers),
    hits: link === 'database' ? containers : [],
    leavesDeadConnections: passing.kind === 'freeze' || passing.kind === 'drop',
    begin: async () => {
      for (const proxy of proxies) proxy.pass(directions, passing);
    },
    end: () => healAll(proxies),
  };
}

function onConnections(
  around: Surroundings,
  link: 'database' | 'store',
  admission: Parameters<FaultProxy['admit']>[0],
): Fault {
  const containers = someContainers(around);
  const proxies = proxiesOf(containers, link);
  return {
    name: named(`${link} reset, then ${admission}`, containers),
    hits: link === 'database' ? containers : [],
    leavesDeadConnections: admission === 'silence',
    begin: async () => {
      for (const proxy of proxies) {
        proxy.admit(admission);
        proxy.reset();
      }
    },
    end: () => healAll(proxies),
  };
}

function proxiesOf(containers: readonly Container[], link: 'database' | 'store'): FaultProxy[] {
  return containers.flatMap((container) => container[link] ?? []);
}

async function healAll(proxies: readonly FaultProxy[]): Promise<void> {
  await Promise.all(proxies.map((proxy) => proxy.heal()));
}

function onAll({ cluster }: Surroundings, name: string, acts: Acts): Fault {
  return { name, hits: cluster.containers, leavesDeadConnections: true, ...acts };
}

function onContainer(
  around: Surroundings,
  what: string,
  make: (around: Surroundings, container: Container) => Acts,
): Fault {
  const container = oneOf(around.random, around.cluster.containers);
  return {
    name: `container ${container.number} ${what}`,
    hits: [container],
    leavesDeadConnections: what.includes('frozen'),
    ...make(around, container),
  };
}

/** A container that is stopped answers the requests sent meanwhile when it goes on; its cache is too old by then. */
function stopped({ cluster, writeThrough, readAll }: Surroundings, container: Container): Acts {
  const others = cluster.containers.filter((other) => other !== container);
  return {
    begin: async () => {
      container.process.signal('SIGSTOP');
    },
    end: async () => {
      await writeThrough(others);
      await wait(OLD_MS);
      readAll([container]);
      // The requests have to be there.
      await wait(100);
      container.process.signal('SIGCONT');
    },
  };
}

/** Signals a process that serves a container; returns its id. */
async function signalBackend({ cluster, random }: Surroundings, name: NodeJS.Signals): Promise<number> {
  const { pid } = oneOf(random, await cluster.backends());
  signal(pid, name);
  return pid;
}

/** Signals a process, which may have ended. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { isatty } from 'node:tty';
import type { Config } from '../config.ts';
import { portProblem, takeFreePort } from '../http/ports.ts';
import type { Log } from '../telemetry/log.ts';
import type { ProcessMetrics } from '../telemetry/process-metrics.ts';
import { Child } from './child.ts';

/** A process that lived longer than this counts as stable, ms: it is replaced without a pause. */
const STABLE_MS = 10_000;
/** Pauses before replacing a process that dies again before it is stable, ms: the first, then twice as long each time. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;
/** Requests get 30 s to finish; in a restart, clients first get 30 s to close their connections, ms. */
const STOP_MS = 38_000;
const DRAIN_MS = 70_000;
/** How long a process may take to say what it has counted, ms. */
const COUNT_MS = 5_000;

const MIGRATION = '/proc/sys/net/ipv4/tcp_migrate_req';
const RESETS =
  'net.ipv4.tcp_migrate_req is 0, so a restart may reset connections that arrive in the moment when a process closes its socket';

/** The position of one process in the group, which its replacements take over. */
interface Slot {
  child: Child;
  /** Pause before the next replacement, ms. */
  pause: number;
}

/** Keeps several processes of the service running, which share one port (SO_REUSEPORT) and one database. */
export class Supervisor {
  #url = '';
  readonly #config: Config;
  readonly #log: Log;
  readonly #port: number;
  readonly #slots: Slot[] = [];
  /** Processes that run, and ended ones whose counts are not in `#past` yet. */
  readonly #children = new Set<Child>();
  /** The sums of what ended processes have counted. */
  #past: ProcessMetrics | undefined;
  #asked = 0;
  #isStopping = false;
  #isRestarting = false;
  #restartsAgain = false;

  private constructor(config: Config, log: Log, port: number) {
    this.#config = config;
    this.#log = log;
    this.#port = port;
    process.on('exit', () => this.#killAll());
    const hasTerminal = isatty(0);
    // A terminal that is closed sends this signal, too: then the service ends, as a single process does.
    process.on('SIGHUP', () => {
      if (hasTerminal && !isatty(0)) process.kill(process.pid, 'SIGTERM');
      else this.#restart();
    });
  }

  /**
   * Starts the first process alone, because it may have to make the tables, then the others. Throws an error with a sentence
   * if one of them cannot start.
   */
  static async start(config: Config, log: Log): Promise<Supervisor> {
    const { host, port, processes } = config;
    const free = port === 0 ? await takeFreePort(host) : undefined;
    // Otherwise two instances of one user would share a port without knowing.
    const problem = free ? undefined : await portProblem(host, port);
    if (problem !== undefined) throw new Error(problem);
    const supervisor = new Supervisor(config, log, free?.port ?? port);
    const first = supervisor.#spawn();
    supervisor.#url = await first.ready;
    free?.release();
    const others = Array.from({ length: processes - 1 }, () => supervisor.#spawn());
    await Promise.all(others.map(({ ready }) => ready));
    for (const child of [first, ...others]) supervisor.#occupy({ child, pause: 0 });
    return supervisor;
  }

  get url(): string {
    return this.#url;
  }

  /** Ends all processes, each when its running requests have finished. Throws if one of them does not end in order. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const serving = [...this.#children].filter(({ isReady, hasEnded }) => isReady && !hasEnded);
    await Promise.all([...this.#children].map((child) => child.end('stop', STOP_MS)));
    for (const { pid, ended } of serving) {
      const { isOrderly, how } = await ended;
      if (!isOrderly) throw new Error(`process ${pid} ended ${how}`);
    }
  }

  #spawn(): Child {
    const child = new Child({
      env: { PORT: String(this.#port), SERVICE_PROCESSES: String(this.#config.processes) },
      onLines: (lines) => this.#log.passOn(lines),
      onAsking: (asking, id) => this.#countFor(asking, id),
    });
    this.#children.add(child);
    this.#keepCounts(child);
    return child;
  }

  #occupy(slot: Slot): void {
    this.#slots.push(slot);
    this.#watch(slot);
  }

  /** Replaces the process of a slot when it ends, unless another one has its slot by then. */
  async #watch(slot: Slot): Promise<void> {
    const { child } = slot;
    const { how, isOrderly } = await child.ended;
    if (this.#isStopping || slot.child !== child) return;
    this.#log[isOrderly ? 'warn' : 'error']('a process ended', { pid: child.pid, how });
    if (performance.now() - child.startedAt > STABLE_MS) slot.pause = 0;
    await this.#replace(slot);
  }

  async #replace(slot: Slot): Promise<void> {
    while (!this.#isStopping) {
      await wait(slot.pause);
      if (this.#isStopping) return;
      slot.pause = Math.min(Math.max(2 * slot.pause, FIRST_PAUSE_MS), MAX_PAUSE_MS);
      slot.child = this.#spawn();
      if (await this.#isReady(slot.child)) {
        this.#watch(slot);
        return;
      }
    }
  }

  async #isReady(child: Child): Promise<boolean> {
    try {
      await child.ready;
      return true;
    } catch (error) {
      if (!this.#isStopping)
        this.#log.error('a process cannot start', { pid: child.pid, reason: (error as Error).message });
      return false;
    }
  }

  /** Replaces one process after the other. A process that cannot start ends the restart, and its predecessor stays. */
  async #restart(): Promise<void> {
    // While the first processes start, there is nothing old to replace.
    if (this.#isStopping || this.#slots.length === 0) return;
    this.#restartsAgain = true;
    if (this.#isRestarting) return;
    this.#isRestarting = true;
    if (!migratesConnections()) this.#log.warn(RESETS);
    while (this.#restartsAgain) {
      this.#restartsAgain = false;
      this.#log.info('restarting', { processes: this.#slots.length });
      const isDone = await this.#renewAll();
      if (this.#isStopping) return;
      if (isDone) this.#log.info('restarted');
      else this.#log.error('the restart ended early, so some processes were not replaced');
    }
    this.#isRestarting = false;
  }

  async #renewAll(): Promise<boolean> {
    for (const slot of this.#slots) if (this.#isStopping || !(await this.#renew(slot))) return false;
    return true;
  }

  /** Starts a new process in a slot, then lets the old one drain. */
  async #renew(slot: Slot): Promise<boolean> {
    const old = slot.child;
    // It is being replaced already.
    if (!old.isReady || old.hasEnded) return true;
    const renewed = this.#spawn();
    slot.child = renewed;
    if (await this.#isReady(renewed)) {
      this.#watch(slot);
      await old.end('drain', DRAIN_MS);
      return true;
    }
    slot.child = old;
    if (old.hasEnded) this.#replace(slot);
    return false;
  }

  /** Sends what all processes have counted to the one that asks. */
  async #countFor(asking: Child, id: number): Promise<void> {
    this.#asked += 1;
    const question = this.#asked;
    const [{ linesLostBy }] = await Promise.all([
      import('../telemetry/process-metrics.ts'),
      ...[...this.#children].map((child) => child.isReady && child.count(question, COUNT_MS)),
    ]);
    // Those that ended meanwhile are in `#past`.
    const counts = [this.#past, ...[...this.#children].map((child) => child.counts)];
    const all = [...counts.filter((some) => some !== undefined), linesLostBy(this.#log.linesLost())];
    asking.order({ is: 'all', id, all });
  }

  /** Keeps the counts of a process beyond its end, because sums must not fall. */
  async #keepCounts(child: Child): Promise<void> {
    await child.ended;
    if (child.counts !== undefined) {
      const { totalsOf } = await import('../telemetry/process-metrics.ts');
      this.#past = totalsOf([...(this.#past ? [this.#past] : []), child.counts]);
    }
    this.#children.delete(child);
  }

  #killAll(): void {
    for (const child of this.#children) child.kill();
  }
}

/** Whether the kernel gives connections that wait for a closed socket to another one of its port. */
function migratesConnections(): boolean {
  try {
    return readFileSync(MIGRATION, 'latin1').trim() !== '0';
  } catch {
    return true;
  }
}

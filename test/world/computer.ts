import { createHash } from 'node:crypto';
import { Random } from '../support/random.ts';
import { type Chance, failure, SimulatedDisk } from './simulated-disk.ts';
import { SimulatedTime } from './simulated-time.ts';
import { drained } from './system-calls.ts';

/** What the disk does besides what it is asked. */
export interface Weather {
  /** How likely a system call fails, and with which error codes. */
  readonly faults: number;
  readonly codes: readonly string[];
  /** How often a call takes up to this long, ms, and not about one. */
  readonly slow: number;
  readonly slowMs: number;
  /** After a call that failed no other fails for so long, ms: nor do those that take back what was done. */
  readonly restMs: number;
}

export const CALM: Weather = { faults: 0, codes: [], slow: 0, slowMs: 0, restMs: 0 };

/** Calls that change something, which can fail for want of room. */
const CHANGING = new Set('create write mkdir link rename unlink rmdir fsync fdatasync futime'.split(' '));
const NEVER_FAILING = new Set(['close', 'fstat']);

/** A write that began in a storm may end so long after it, ms. */
const STORM_MS = 5_000;

/** Nothing takes so long while no call fails, ms. */
const PATIENCE_MS = 120_000;

/** A computer with a disk, a clock and a source of chance, which fails, is killed and loses its power as the seed says. */
export class Computer {
  readonly random: Random;
  readonly time = new SimulatedTime();
  readonly disk: SimulatedDisk;
  weather = CALM;
  /** Calls of the disk so far. */
  steps = 0;
  /** The process dies at the first call from this one on that may change something; infinite for never. */
  dyingAt = Number.POSITIVE_INFINITY;
  /** The process dies at the call after one whose line in the trace matches. */
  dyingAfter: RegExp | undefined;
  /** The process has died: nothing that is left of it does anything. */
  isDown = false;
  /** Calls whose lines in the trace match fail, whatever the weather. */
  failing: Pick<RegExp, 'test'> | undefined;
  /** The error code of these. */
  failingWith = 'EIO';
  /** Calls that failed so far. */
  faults = 0;
  /** When the last one did, ms since the epoch. */
  lastFaultAt = Number.NEGATIVE_INFINITY;
  #isDying = false;
  #lastStormAt = Number.NEGATIVE_INFINITY;
  /** Syncs do nothing: a control, which must lose notes. */
  readonly #hasFalseSyncs: boolean;
  readonly #hash = createHash('sha256');
  readonly #lines: string[] = [];

  constructor(seed: number, root: string, { hasFalseSyncs = false } = {}) {
    this.random = new Random(seed);
    this.disk = new SimulatedDisk(root, () => this.time.now);
    this.#hasFalseSyncs = hasFalseSyncs;
  }

  /** Calls fail one after the other until then, ms since the epoch. */
  stormUntil(end: number): void {
    this.lastFaultAt = this.#lastStormAt = end;
  }

  /** Of the last calls none failed soon after another. */
  get canTakeBack(): boolean {
    return this.time.now > this.#lastStormAt + STORM_MS;
  }

  /**
   * Lets things happen until a work is done. Undefined if the process died meanwhile.
   * @throws an error if the work is not done long after the last failure
   */
  async until<T>(work: Promise<T>): Promise<T | undefined> {
    const begunAt = this.time.now;
    let outcome: PromiseSettledResult<T> | undefined;
    void Promise.allSettled([work]).then(([settled]) => {
      outcome = settled;
    });
    for (;;) {
      await drained();
      if (this.isDown) return undefined;
      if (outcome?.status === 'rejected') throw outcome.reason;
      if (outcome) return outcome.value;
      const isLate = this.time.now > Math.max(begunAt, this.lastFaultAt) + PATIENCE_MS;
      if (isLate || !this.time.advance()) throw new Error('something is waited for that does not come');
    }
  }

  /** A call that the caller waits for. */
  call<T>(name: string, subject: unknown, work: () => T): T {
    const fault = this.#begin(name, subject);
    if (fault) throw this.#failed(fault, name);
    const result = work();
    if (this.isDown) throw failure('EDOWN', name);
    return result;
  }

  /** A call on the thread pool. Its effect is between its begin and its end. */
  later<T>(
    name: string,
    subject: unknown,
    work: () => T,
    done: (error: Error | null, result?: T) => void,
  ): void {
    const fault = this.#begin(name, subject);
    if (this.isDown) return;
    const isAtOnce = this.random.chance(0.3);
    const run = (): (() => void) => {
      try {
        if (fault) throw this.#failed(fault, name);
        const result = work();
        return () => done(null, result);
      } catch (error) {
        return () => done(error as Error);
      }
    };
    if (isAtOnce) {
      const end = run();
      this.time.after(this.#duration(), end);
    } else
      this.time.after(this.#duration(), () => {
        const end = run();
        this.time.after(this.random.next() * 0.2, end);
      });
  }

  sync(name: string, fd: number, done: (error: Error | null) => void): void {
    const fault = this.#begin(name, fd);
    if (this.isDown) return;
    const end = this.disk.sync(fd);
    this.time.after(this.#duration() * 2, () => {
      if (!this.#hasFalseSyncs) end(fault !== undefined);
      const error = fault === undefined ? null : this.#failed(fault, name);
      this.time.after(this.random.next() * 0.2, () => done(error));
    });
  }

  write(fd: number, bytes: Uint8Array): number {
    const fault = this.#begin('write', `${fd} ${bytes.byteLength}`);
    const isShort = fault !== undefined || this.isDown || this.random.chance(0.05);
    const written = this.disk.write(
      fd,
      isShort ? bytes.subarray(0, this.random.below(bytes.byteLength + 1)) : bytes,
    );
    if (this.isDown) throw failure('EDOWN', 'write');
    if (fault) throw this.#failed(fault, 'write');
    return written;
  }

  /** After the death of the process. `chance` says what of unsynced bytes and names a power cut leaves. */
  restart(isPowerCut: boolean, chance: Chance = this.random): void {
    this.trace(isPowerCut ? 'power cut' : 'kill');
    this.time.forget();
    if (isPowerCut) this.disk.cutPower(chance);
    else this.disk.closeAll();
    this.isDown = this.#isDying = false;
    this.dyingAt = Number.POSITIVE_INFINITY;
    this.dyingAfter = undefined;
    this.time.after(this.random.below(2000), () => {});
    this.time.advance();
  }

  trace(line: string): void {
    const whole = `${this.steps} ${this.time.now.toFixed(3)} ${line}`;
    this.#hash.update(`${whole}\n`);
    this.#lines.push(whole);
  }

  /** The trace so far. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Of the trace so far. */
  get hash(): string {
    return this.#hash.copy().digest('hex');
  }

  /** Counts a call. Returns the error with which it is to fail. The process may die at it: then it may have been done or not. */
  #begin(name: string, subject: unknown): string | undefined {
    if (this.isDown) throw failure('EDOWN', name);
    if (this.#isDying) this.#die(name);
    this.steps += 1;
    const line = `${name} ${subject}`;
    const fault = this.failing?.test(line) ? this.failingWith : this.#fault(name);
    this.trace(`${line}${fault ? ` ${fault}` : ''}`);
    this.#isDying = this.dyingAfter?.test(line) ?? false;
    if (this.steps < this.dyingAt || !CHANGING.has(name)) return fault;
    if (this.random.chance(0.5)) this.#die(name);
    this.isDown = true;
    return fault;
  }

  #die(call: string): never {
    this.isDown = true;
    throw failure('EDOWN', call);
  }

  #fault(name: string): string | undefined {
    const { faults, codes, restMs } = this.weather;
    if (faults === 0 || NEVER_FAILING.has(name)) return undefined;
    if (this.time.now < this.lastFaultAt + restMs || !this.random.chance(faults)) return undefined;
    const possible = codes.filter(
      (code) =>
        code === 'EIO' ||
        (code === 'ENOSPC' && CHANGING.has(name)) ||
        (code === 'EMFILE' && (name === 'open' || name === 'create' || name === 'scandir')),
    );
    return possible.length > 0 ? this.random.oneOf(possible) : undefined;
  }

  #failed(code: string, call: string): Error {
    this.faults += 1;
    if (this.weather.restMs === 0) this.#lastStormAt = this.time.now;
    this.lastFaultAt = this.time.now;
    return failure(code, call);
  }

  #duration(): number {
    const { slow, slowMs } = this.weather;
    return this.random.chance(slow) ? this.random.next() * slowMs : 0.05 + this.random.next() * 0.8;
  }
}

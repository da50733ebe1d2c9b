import { basename } from 'node:path';
import { isIntentName, isTempName } from '../../src/storage/files/names.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { Client } from './clients.ts';
import { CALM, Computer, type Weather } from './computer.ts';
import { Violation } from './known.ts';
import { openOn } from './opening.ts';
import { Person } from './person.ts';
import { Scene } from './scene.ts';
import { drained, ROOT, runOn } from './system-calls.ts';
import { verify } from './verifying.ts';

export interface WorldOptions {
  /** Calls of the disk after which the world ends as soon as it can. */
  readonly steps: number;
  /** Syncs do nothing. */
  readonly hasFalseSyncs?: boolean;
}

export interface WorldEnd {
  readonly steps: number;
  readonly operations: number;
  readonly deaths: number;
  readonly faults: number;
  /** Of everything that happened. */
  readonly hash: string;
  /** What the service did wrong. */
  readonly failure: unknown;
  readonly trace: readonly string[];
}

const DATA = `${ROOT}/data`;
/** Nothing takes so long while no call fails, ms. */
const PATIENCE_MS = 120_000;
/** Time after which everything is as if no call had failed, ms. */
const REST_MS = 5_000;

/** Runs the storage, with clients, on a computer that does what follows from a seed. */
export async function runWorld(
  seed: number,
  { steps, hasFalseSyncs = false }: WorldOptions,
): Promise<WorldEnd> {
  const computer = new Computer(seed, DATA, { hasFalseSyncs });
  runOn(computer);
  const world = new World(computer);
  let error: unknown;
  try {
    await world.run(steps);
  } catch (caught) {
    error = caught;
  } finally {
    runOn(undefined);
  }
  return {
    ...{
      steps: computer.steps,
      operations: world.scene.operations,
      deaths: world.deaths,
      faults: computer.faults,
    },
    hash: computer.hash,
    failure: error,
    trace: computer.lines,
  };
}

class World {
  readonly scene: Scene;
  deaths = 0;
  readonly #computer: Computer;
  /** What a client, or something else that nobody waits for, threw. */
  #thrown: unknown;

  constructor(computer: Computer) {
    this.#computer = computer;
    this.scene = new Scene(computer);
  }

  async run(steps: number): Promise<void> {
    while (this.#computer.steps < steps) await this.#live();
    const storage = await this.#until(openOn(this.#computer, DATA));
    await this.#until(verify(this.scene, storage!));
    await this.#until(storage!.close());
  }

  /** One life of the process. */
  async #live(): Promise<void> {
    const computer = this.#computer;
    const { random } = computer;
    if (random.chance(0.2)) computer.dyingAt = computer.steps + random.below(300);
    const storage = await this.#until(openOn(computer, DATA));
    if (!storage) return this.#die();
    computer.dyingAt = Number.POSITIVE_INFINITY;
    await this.#until(verify(this.scene, storage));
    if (random.chance(0.2)) return this.#die();
    if (random.chance(0.2)) {
      await this.#until(this.#rest());
      this.#mustBeTidy();
    }
    computer.weather = weather(computer);
    if (random.chance(0.7)) computer.dyingAt = computer.steps + random.below(3_000);
    const clients = Array.from({ length: 1 + random.below(6) }, () => this.#client(storage));
    if (this.scene.hasPerson) clients.push(this.#person());
    const isDone = await this.#until(Promise.all(clients).then(() => true));
    computer.weather = CALM;
    if (!isDone) return this.#die();
    computer.dyingAt = Number.POSITIVE_INFINITY;
    await this.#until(this.#rest());
    await this.#until(verify(this.scene, storage));
    if (computer.disk.openDescriptors !== 1)
      throw new Violation(`${computer.disk.openDescriptors} files are open, and not only the lock`);
    if (random.chance(0.5)) return this.#die();
    await this.#until(storage.close());
    if (computer.disk.openDescriptors > 0) throw new Violation('files are open after the end');
    computer.restart(random.chance(0.5));
  }

  async #client(storage: Storage): Promise<void> {
    const { random, time } = this.#computer;
    const client = new Client(this.scene, storage);
    for (let n = 1 + random.below(60); n > 0; n -= 1) {
      await new Promise<void>((resolve) => time.after(random.next() * random.pick([1, 30, 300]), resolve));
      await client.act();
    }
  }

  async #person(): Promise<void> {
    const { random, time } = this.#computer;
    const person = new Person(this.scene, DATA);
    for (let n = random.below(10); n > 0; n -= 1) {
      await new Promise<void>((resolve) => time.after(random.next() * 1_000, resolve));
      person.act();
    }
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => this.#computer.time.after(REST_MS, resolve));
  }

  #die(): void {
    this.deaths += 1;
    this.#computer.isDown = true;
    this.#computer.restart(this.#computer.random.chance(0.7));
    this.#computer.weather = CALM;
  }

  /** Lets things happen until a work is done. Undefined if the process died meanwhile. */
  async #until<T>(work: Promise<T>): Promise<T | undefined> {
    const computer = this.#computer;
    const begunAt = computer.time.now;
    let outcome: PromiseSettledResult<T> | undefined;
    void Promise.allSettled([work]).then(([settled]) => {
      outcome = settled;
    });
    for (;;) {
      await drained();
      if (this.#thrown) throw this.#thrown;
      if (computer.isDown) return undefined;
      if (outcome?.status === 'rejected') throw outcome.reason;
      if (outcome) return outcome.value;
      const isLate = computer.time.now > Math.max(begunAt, computer.lastFaultAt) + PATIENCE_MS;
      if (isLate || !computer.time.advance())
        throw new Violation('something is waited for that does not come');
    }
  }

  /** A start has removed what a death left. */
  #mustBeTidy(): void {
    for (const path of this.#computer.disk.paths())
      if (isTempName(basename(path)) || isIntentName(basename(path)))
        throw new Violation(`a start has left ${path}`);
  }
}

/** Single failures, each followed by a rest in which what was done is taken back, or storms. */
function weather({ random }: Computer): Weather {
  if (random.chance(0.3)) return CALM;
  const slow = { slow: random.pick([0, 0.02]), slowMs: random.pick([20, 2_000]) };
  const codes = random.pick([['EIO'], ['ENOSPC'], ['EMFILE'], ['EIO', 'ENOSPC', 'EMFILE']]);
  return { faults: random.pick([0, 0.002, 0.02]), codes, ...slow, restMs: 500 };
}

import { basename } from 'node:path';
import { isIntentName, isTempName } from '../../src/storage/files/names.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { Client } from './clients.ts';
import { CALM, Computer, type Weather } from './computer.ts';
import { Violation } from './known.ts';
import { openOn } from './opening.ts';
import { Person } from './person.ts';
import { Scene } from './scene.ts';
import { ROOT, runOn } from './system-calls.ts';
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
  // It would end the process of the service.
  const hear = (cause: unknown) => {
    error ??= new Violation('a failure was not handled', { cause });
  };
  process.on('unhandledRejection', hear);
  try {
    await world.run(steps);
  } catch (caught) {
    error ??= caught;
  } finally {
    process.off('unhandledRejection', hear);
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
  /** The clients of this life are done. */
  #isOver = false;

  constructor(computer: Computer) {
    this.#computer = computer;
    this.scene = new Scene(computer);
  }

  async run(steps: number): Promise<void> {
    const computer = this.#computer;
    while (computer.steps < steps) await this.#live();
    const storage = await computer.until(openOn(computer, DATA, this.scene));
    await computer.until(verify(this.scene, storage!));
    await computer.until(storage!.close());
  }

  /** One life of the process. */
  async #live(): Promise<void> {
    const computer = this.#computer;
    const { random } = computer;
    if (random.chance(0.2)) computer.dyingAt = computer.steps + random.below(300);
    const storage = await computer.until(openOn(computer, DATA, this.scene));
    if (!storage) return this.#die();
    computer.dyingAt = Number.POSITIVE_INFINITY;
    await computer.until(verify(this.scene, storage));
    if (random.chance(0.2)) return this.#die();
    if (random.chance(0.2)) {
      await computer.until(this.#rest());
      this.#mustBeTidy();
    }
    this.#isOver = false;
    this.#letWeatherChange();
    if (random.chance(0.7)) computer.dyingAt = computer.steps + random.below(3_000);
    const clients = Array.from({ length: 1 + random.below(6) }, () => this.#client(storage));
    if (this.scene.hasPerson) clients.push(this.#person());
    if (random.chance(0.2)) this.#letFolderGo();
    const isDone = await computer.until(Promise.all(clients).then(() => true));
    this.#isOver = true;
    this.#bringFolderBack();
    computer.weather = CALM;
    if (!isDone) return this.#die();
    computer.dyingAt = Number.POSITIVE_INFINITY;
    await computer.until(this.#rest());
    await computer.until(verify(this.scene, storage, { isOfOneLife: true }));
    if (computer.disk.openDescriptors !== 1)
      throw new Violation(`${computer.disk.openDescriptors} files are open, and not only the lock`);
    if (random.chance(0.5)) return this.#die();
    await computer.until(storage.close());
    if (computer.disk.openDescriptors > 0) throw new Violation('files are open after the end');
    computer.restart(random.chance(0.5));
  }

  async #client(storage: Storage): Promise<void> {
    const { random, time } = this.#computer;
    const client = new Client(this.scene, storage);
    for (let n = 1 + random.below(60); n > 0; n -= 1) {
      await new Promise<void>((resolve) => time.after(random.next() * random.oneOf([1, 30, 300]), resolve));
      await client.act();
    }
  }

  async #person(): Promise<void> {
    const { random, time, disk } = this.#computer;
    const person = new Person(this.scene, DATA);
    for (let n = random.below(10); n > 0; n -= 1) {
      await new Promise<void>((resolve) => time.after(random.next() * 1_000, resolve));
      if (!disk.isAway) person.act();
    }
  }

  #letWeatherChange(): void {
    const { time, random } = this.#computer;
    this.#computer.weather = weather(this.#computer);
    if (this.#isOver) this.#computer.weather = CALM;
    else time.after(random.below(3_000), () => this.#letWeatherChange());
  }

  /** Takes the data folder away for a while, as a disk that is not there for a moment. */
  #letFolderGo(): void {
    const { time, random, disk } = this.#computer;
    time.after(random.below(5_000), () => {
      if (this.#isOver) return;
      const awayMs = 50 + random.below(random.oneOf([500, 5_000]));
      this.#computer.trace('the data folder goes away');
      disk.isAway = true;
      this.#computer.stormUntil(time.now + awayMs);
      time.after(awayMs, () => this.#bringFolderBack());
    });
  }

  #bringFolderBack(): void {
    const { disk } = this.#computer;
    if (disk.isAway) this.#computer.trace('the data folder is back');
    disk.isAway = false;
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

  /** A start has removed what a death left. */
  #mustBeTidy(): void {
    for (const path of this.#computer.disk.paths())
      if (isTempName(basename(path)) || isIntentName(basename(path)))
        throw new Violation(`a start has left ${path}`);
  }
}

/** Single failures, each followed by a rest in which what was done is taken back, or a storm. */
function weather({ random }: Computer): Weather {
  if (random.chance(0.3)) return CALM;
  const slow = { slow: random.oneOf([0, 0.02]), slowMs: random.oneOf([20, 2_000]) };
  const codes = random.oneOf([['EIO'], ['ENOSPC'], ['EMFILE'], ['EIO', 'ENOSPC', 'EMFILE']]);
  const single = { faults: random.oneOf([0, 0.002, 0.02]), restMs: 3_000 };
  const storm = { faults: random.oneOf([0.1, 0.5, 1]), restMs: 0 };
  return { codes, ...slow, ...(random.chance(0.15) ? storm : single) };
}

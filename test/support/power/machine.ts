import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import { type Backend, makeImageFolder, Services } from '../load/services.ts';
import type { Target } from '../load/write-kind.ts';
import { PostgresServer } from '../postgres.ts';
import type { Random } from '../random.ts';
import type { CutDisk } from './cut-disk.ts';

/** Where a service keeps its notes; with a database, `images` says where its pictures are at first. */
export interface Place {
  readonly storage: Backend;
  readonly images: 'db' | 'fs';
}

interface MachineOptions extends Place {
  /** Makes an index of the notes, which takes half of the time of a start. */
  readonly hasSearch: boolean;
  /** The variables with which the service does not sync. */
  readonly unsynced?: Record<string, string> | undefined;
}

/** A service, and its database server if it has one, with all that they keep on one disk. */
export class Machine implements Target {
  readonly disk: CutDisk;
  readonly services: Services;
  readonly #postgres: PostgresServer | undefined;

  private constructor(disk: CutDisk, services: Services, postgres: PostgresServer | undefined) {
    this.disk = disk;
    this.services = services;
    this.#postgres = postgres;
  }

  /** Starts them on an empty disk. */
  static async start(
    t: Pick<Test, 'teardown'>,
    disk: CutDisk,
    random: Random,
    { storage, images, hasSearch, unsynced }: MachineOptions,
  ): Promise<Machine> {
    const dir = `${disk.dir}/data`;
    const settings = [`fsync=${unsynced ? 'off' : 'on'}`, 'max_wal_size=64MB'];
    const postgres =
      storage === 'postgres' ? await PostgresServer.start(t, settings, undefined, disk.dir) : undefined;
    const database = await postgres?.database();
    if (postgres) await makeImageFolder(dir);
    // A server is older than its first notes. What the service makes for itself must last at once.
    disk.sync();
    const services = await Services.start(t, storage, random, {
      count: 1,
      dir,
      images,
      env: { SERVICE_SEARCH: hasSearch ? '1' : '0', ...unsynced },
      ...(database !== undefined && { database }),
    });
    // What is lost without syncs are to be notes, not the instance.
    if (unsynced) disk.sync();
    return new Machine(disk, services, postgres);
  }

  get url(): string {
    return this.services.url;
  }

  get movedFrom(): Record<string, string> | undefined {
    return this.services.movedFrom;
  }

  get diskFailure(): 'ordered' | 'complete' | undefined {
    return this.disk.failure;
  }

  /** Cuts the power, and ends everything so many ms later. */
  async cut(endAfterMs: number): Promise<void> {
    await this.disk.cut();
    await delay(endAfterMs);
    await this.kill();
  }

  /** Starts everything again on what is left. Clients must have seen the end. */
  async restart(): Promise<void> {
    await this.disk.restore();
    await this.#postgres?.start();
    await this.services.restart();
  }

  async kill(): Promise<void> {
    await Promise.all([this.services.killAll(), this.#postgres?.stop('SIGKILL')]);
  }
}

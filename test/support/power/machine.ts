import { chown, mkdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import { OPERATOR_TOKEN } from '../image-settings.ts';
import { PostgresServer } from '../postgres.ts';
import { ServiceProcess } from '../service-process.ts';
import type { CutDisk } from './cut-disk.ts';

/** As whom the service runs if root starts it. */
const USER = 1_000;

/** Where a service keeps its notes; with a database, `images` says where its pictures are. */
export interface Place {
  readonly storage: 'fs' | 'sqlite' | 'postgres';
  readonly images: 'db' | 'fs';
}

interface MachineOptions extends Place {
  /** Makes an index of the notes, which takes half of the time of a start. */
  readonly hasSearch?: boolean;
  /** The variables with which the service does not sync. */
  readonly unsynced?: Record<string, string>;
}

/** The service, and its database server if it has one, with all that they keep on one disk. */
export class Machine {
  readonly disk: CutDisk;
  readonly options: MachineOptions;
  readonly #t: Pick<Test, 'teardown'>;
  readonly #postgres: PostgresServer | undefined;
  #env: Record<string, string> = {};
  #service: ServiceProcess | undefined;

  private constructor(
    t: Pick<Test, 'teardown'>,
    disk: CutDisk,
    options: MachineOptions,
    postgres: PostgresServer | undefined,
  ) {
    this.#t = t;
    this.disk = disk;
    this.options = options;
    this.#postgres = postgres;
  }

  /** Starts them on an empty disk. */
  static async start(t: Pick<Test, 'teardown'>, disk: CutDisk, options: MachineOptions): Promise<Machine> {
    const isServer = options.storage === 'postgres';
    const settings = [`fsync=${options.unsynced ? 'off' : 'on'}`, 'max_wal_size=64MB'];
    const postgres = isServer ? await PostgresServer.start(t, settings, undefined, disk.dir) : undefined;
    const machine = new Machine(t, disk, options, postgres);
    await machine.#startFirst();
    return machine;
  }

  async #startFirst(): Promise<void> {
    const { storage, images, hasSearch = false, unsynced } = this.options;
    const database = await this.#postgres?.database();
    if (database !== undefined) {
      await mkdir(this.dataDir);
      await chown(this.dataDir, USER, USER);
    }
    // A server is older than its first notes. What the service makes for itself must last at once.
    this.disk.sync();
    this.#env = {
      SERVICE_STORAGE: storage,
      SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
      ...(storage !== 'fs' && {
        SERVICE_SECRET: 'a secret of tests that is long enough',
        SERVICE_IMAGES: images,
      }),
      ...(database !== undefined && { SERVICE_DATABASE_URL: database }),
      // With limits, feeds and bytes are counted beside the rows.
      SERVICE_MAX_FEEDS: '100000',
      SERVICE_MAX_BYTES: String(2 ** 40),
      SERVICE_SEARCH: hasSearch ? '1' : '0',
      SERVICE_LOG_REQUESTS: '0',
      ...unsynced,
    };
    await this.#start();
    // What is lost without syncs are to be notes, not the instance.
    if (unsynced) this.disk.sync();
  }

  get service(): ServiceProcess {
    return this.#service!;
  }

  /** Where the service keeps what is no database. */
  get dataDir(): string {
    return `${this.disk.dir}/data`;
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
    await this.#start();
  }

  async kill(): Promise<void> {
    await Promise.all([this.#service?.kill('SIGKILL'), this.#postgres?.stop('SIGKILL')]);
  }

  async #start(): Promise<void> {
    this.#service = await ServiceProcess.start(this.#t, { dir: this.dataDir, env: this.#env });
  }
}

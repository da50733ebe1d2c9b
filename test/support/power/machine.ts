import { chown, mkdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import { OPERATOR_TOKEN } from '../image-settings.ts';
import { PostgresServer } from '../postgres.ts';
import { ServiceProcess } from '../service-process.ts';
import type { CutDisk } from './cut-disk.ts';

/** Whom the folder of a database service belongs to. */
const USER = 1_000;

/** Where a service keeps its notes; with a database, `images` says where its pictures are. */
export interface Place {
  readonly storage: 'fs' | 'sqlite' | 'postgres';
  readonly images: 'db' | 'fs';
}

/** The service, and its database server if it has one, with all that they keep on one disk. */
export class Machine {
  readonly disk: CutDisk;
  readonly #t: Pick<Test, 'teardown'>;
  readonly #env: Record<string, string>;
  readonly #postgres: PostgresServer | undefined;
  #service: ServiceProcess | undefined;

  private constructor(
    t: Pick<Test, 'teardown'>,
    disk: CutDisk,
    env: Record<string, string>,
    postgres: PostgresServer | undefined,
  ) {
    this.#t = t;
    this.disk = disk;
    this.#env = env;
    this.#postgres = postgres;
  }

  /** Starts them on an empty disk. @param unsynced the variables with which nothing is synced */
  static async start(
    t: Pick<Test, 'teardown'>,
    disk: CutDisk,
    { storage, images }: Place,
    unsynced?: Record<string, string>,
  ): Promise<Machine> {
    const postgres =
      storage === 'postgres'
        ? await PostgresServer.start(
            t,
            [`fsync=${unsynced ? 'off' : 'on'}`, 'max_wal_size=64MB'],
            undefined,
            disk.dir,
          )
        : undefined;
    const database = await postgres?.database();
    // A database server is older than its first notes; what the service makes for itself must last at once.
    disk.sync();
    const env = {
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
      SERVICE_LOG_REQUESTS: '0',
      // Its index promises nothing and takes half of the time of a start.
      SERVICE_SEARCH: '0',
      ...unsynced,
    };
    const machine = new Machine(t, disk, env, postgres);
    if (storage !== 'fs') await mkdir(machine.dataDir);
    if (storage !== 'fs') await chown(machine.dataDir, USER, USER);
    await machine.#start();
    // What is lost without syncs are to be notes, not the instance.
    if (unsynced) disk.sync();
    return machine;
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

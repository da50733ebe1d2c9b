import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { OPERATOR_TOKEN } from '../image-settings.ts';
import { PostgresServer } from '../postgres.ts';
import type { Random } from '../random.ts';
import { dataDir, ServiceProcess } from '../service-process.ts';

export type Backend = 'fs' | 'sqlite' | 'postgres';

/** Where databases keep pictures, one after the other: in rows, and in folders. */
const PLACES = ['db', 'one', 'other'];

interface ServicesOptions {
  /** How many; two on PostgreSQL, so that writes go on while one is killed, and else one unless given. */
  readonly count?: number;
  /** For their data; a new one that is removed when the test ends unless given. */
  readonly dir?: string;
  /** The address of an empty database for PostgreSQL; that of a new server unless given. */
  readonly database?: string;
  /** Where databases keep pictures at first; in a folder unless given. */
  readonly images?: 'db' | 'fs';
  /** Further settings. */
  readonly env?: Record<string, string>;
  /** Of Node. */
  readonly flags?: readonly string[];
}

/** The services on one backend. */
export class Services {
  readonly backend: Backend;
  readonly dir: string;
  readonly #t: Pick<Test, 'teardown'>;
  readonly #env: Record<string, string>;
  readonly #flags: readonly string[];
  readonly #random: Random;
  readonly #running: (ServiceProcess | undefined)[];
  #place: number;
  #movedFrom: number | undefined;

  private constructor(
    t: Pick<Test, 'teardown'>,
    backend: Backend,
    random: Random,
    { dir, count, images, env, flags }: Required<Omit<ServicesOptions, 'database'>>,
  ) {
    this.#t = t;
    this.backend = backend;
    this.dir = dir;
    this.#env = env;
    this.#flags = flags;
    this.#random = random;
    this.#running = Array.from({ length: count });
    this.#place = images === 'db' ? 0 : 1;
  }

  static async start(
    t: Pick<Test, 'teardown'>,
    backend: Backend,
    random: Random,
    {
      count = backend === 'postgres' ? 2 : 1,
      images = 'fs',
      env: more,
      flags = [],
      ...given
    }: ServicesOptions = {},
  ): Promise<Services> {
    const isServer = backend === 'postgres';
    const database =
      given.database ?? (isServer ? await (await PostgresServer.start(t)).database() : undefined);
    const dir = given.dir ?? (await dataDir(t));
    if (isServer && given.dir === undefined) await makeImageFolder(dir);
    const env = {
      SERVICE_STORAGE: backend,
      SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
      ...(backend !== 'fs' && { SERVICE_SECRET: 'a secret that is long enough for it' }),
      ...(database !== undefined && { SERVICE_DATABASE_URL: database }),
      // With limits, feeds and bytes are counted beside the rows.
      SERVICE_MAX_FEEDS: '100000',
      SERVICE_MAX_BYTES: String(2 ** 40),
      SERVICE_LOG_REQUESTS: '0',
      ...more,
    };
    const services = new Services(t, backend, random, { dir, count, images, env, flags });
    await services.restart();
    return services;
  }

  /** Of one that runs. Throws if none does. */
  get url(): string {
    const running = this.#running.filter((service) => service !== undefined);
    if (running.length === 0) throw new Error('no service runs');
    return this.#random.oneOf(running).url;
  }

  get urls(): string[] {
    return this.#running.flatMap((service) => service?.url ?? []);
  }

  /** How those ended that nobody killed, with what they wrote on standard error. */
  async ends(): Promise<string[]> {
    const ended = this.#running.filter((service) => service !== undefined && !service.isRunning);
    return Promise.all(ended.map(async (one) => `${JSON.stringify(await one!.exit)} ${one!.errors}`));
  }

  /** What those that run have logged as an error since their start. Why a single request failed, its answer says. */
  get errors(): string[] {
    const lines = this.#running.flatMap((service) => service?.lines ?? []);
    return lines
      .filter(({ level, msg }) => level === 'error' && msg !== 'request')
      .map((line) => JSON.stringify(line));
  }

  get movedFrom(): Record<string, string> | undefined {
    if (this.#movedFrom === undefined) return undefined;
    const place = PLACES[this.#movedFrom]!;
    return place === 'db' ? { from: place } : { from: 'fs', dir: join(this.dir, place) };
  }

  /** Kills one of the services, or all. */
  async kill(): Promise<void> {
    const isAll = this.#random.oneIn(2);
    const victim = this.#random.below(this.#running.length);
    await this.#end('SIGKILL', (n) => isAll || n === victim);
  }

  async killAll(): Promise<void> {
    await this.#end('SIGKILL', () => true);
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM', () => true);
  }

  async #end(signal: NodeJS.Signals, isEnded: (n: number) => boolean): Promise<void> {
    const ended = this.#running.filter((_, n) => isEnded(n));
    for (const n of this.#running.keys()) if (isEnded(n)) this.#running[n] = undefined;
    await Promise.all(ended.map((service) => service?.kill(signal)));
  }

  /** Starts those that do not run. */
  async restart(): Promise<void> {
    const place = PLACES[this.#place]!;
    const images =
      place === 'db'
        ? { SERVICE_IMAGES: 'db' }
        : { SERVICE_IMAGES: 'fs', SERVICE_IMAGES_DIR: join(this.dir, place) };
    const env = this.backend === 'fs' ? this.#env : { ...this.#env, ...images };
    await Promise.all(
      this.#running.map(async (running, n) => {
        const options = { dir: this.dir, env, flags: this.#flags };
        this.#running[n] = running ?? (await ServiceProcess.start(this.#t, options));
      }),
    );
  }

  /** Starts all anew, with the next place for pictures. */
  async changePlace(): Promise<void> {
    if (this.backend === 'fs') return;
    await this.killAll();
    this.#movedFrom = this.#place;
    this.#place = (this.#place + 1) % PLACES.length;
    await this.restart();
  }
}

/** Makes a folder for services that give up being root and have no other data there than pictures. */
export async function makeImageFolder(dir: string): Promise<void> {
  await mkdir(dir);
  await chmod(dir, 0o777);
}

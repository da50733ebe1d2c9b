import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { OPERATOR_TOKEN } from '../../support/image-settings.ts';
import { PostgresServer } from '../../support/postgres.ts';
import type { Random } from '../../support/random.ts';
import { dataDir, ServiceProcess } from '../../support/service-process.ts';

export type Backend = 'fs' | 'sqlite' | 'postgres';

/** Where databases keep pictures, one after the other: first in rows, then in folders. */
const PLACES = ['db', 'one', 'other'];

interface ServicesOptions {
  readonly count?: number;
  readonly env?: Record<string, string>;
  readonly flags?: readonly string[];
}

/** The services on one backend: two on PostgreSQL, so that writes go on while one is killed; elsewhere one. */
export class Services {
  readonly dir: string;
  readonly #t: Test;
  readonly #options: Required<Pick<ServicesOptions, 'env' | 'flags'>>;
  readonly #random: Random;
  readonly #running: (ServiceProcess | undefined)[];
  #movedFrom = 0;
  #place = 1;

  private constructor(
    t: Test,
    dir: string,
    options: Required<Pick<ServicesOptions, 'env' | 'flags'>>,
    count: number,
    random: Random,
  ) {
    this.#t = t;
    this.dir = dir;
    this.#options = options;
    this.#random = random;
    this.#running = Array.from({ length: count });
  }

  /** @param options how many there are, two on PostgreSQL and else one unless given; further settings; flags of Node */
  static async start(
    t: Test,
    backend: Backend,
    random: Random,
    { count = backend === 'postgres' ? 2 : 1, env: more = {}, flags = [] }: ServicesOptions = {},
  ): Promise<Services> {
    const env = {
      ...more,
      SERVICE_STORAGE: backend,
      SERVICE_SECRET: 'a secret that is long enough for it',
      SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
      ...(backend === 'postgres' && {
        SERVICE_DATABASE_URL: await (await PostgresServer.start(t)).database(),
      }),
    };
    const dir = await dataDir(t);
    // For a service that gives up being root and has no other data there than pictures.
    await mkdir(dir);
    await chmod(dir, 0o777);
    const services = new Services(t, dir, { env, flags }, count, random);
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

  /** Where pictures were before, as a request to move them says it. */
  get movedFrom(): Record<string, string> {
    const place = PLACES[this.#movedFrom]!;
    return place === 'db' ? { from: place } : { from: 'fs', dir: join(this.dir, place) };
  }

  /** Kills one of the services, or all. */
  async kill(): Promise<void> {
    const isAll = this.#random.below(2) === 0;
    const victim = this.#random.below(this.#running.length);
    const killed = this.#running.filter((_, n) => isAll || n === victim);
    for (const service of killed) this.#running[this.#running.indexOf(service)] = undefined;
    await Promise.all(killed.map((service) => service?.kill('SIGKILL')));
  }

  /** Starts those that do not run. */
  async restart(): Promise<void> {
    const place = PLACES[this.#place]!;
    const images =
      place === 'db'
        ? { SERVICE_IMAGES: 'db' }
        : { SERVICE_IMAGES: 'fs', SERVICE_IMAGES_DIR: join(this.dir, place) };
    const { env: own, flags } = this.#options;
    const env = own.SERVICE_STORAGE === 'fs' ? own : { ...own, ...images };
    await Promise.all(
      this.#running.map(async (running, n) => {
        this.#running[n] = running ?? (await ServiceProcess.start(this.#t, { dir: this.dir, env, flags }));
      }),
    );
  }

  /** Starts all anew, with the next place for pictures. */
  async changePlace(): Promise<void> {
    if (this.#options.env.SERVICE_STORAGE === 'fs') return;
    const all = this.#running.splice(0, this.#running.length, ...this.#running.map(() => undefined));
    await Promise.all(all.map((service) => service?.kill('SIGKILL')));
    this.#movedFrom = this.#place;
    this.#place = (this.#place + 1) % PLACES.length;
    await this.restart();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((service) => service?.kill('SIGTERM')));
  }
}

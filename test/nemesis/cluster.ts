import { readdir, readFile } from 'node:fs/promises';
import { containerSettings, untilAllKnow } from '../support/containers.ts';
import { freePort } from '../support/free-port.ts';
import { imageSettings } from '../support/image-settings.ts';
import { PostgresServer } from '../support/postgres.ts';
import { ServiceProcess } from '../support/service-process.ts';
import { SwiftServer } from '../support/swift.ts';
import { FaultProxy } from './fault-proxy.ts';

/** The most notes of a feed: few, so that posts meet them. RSS shows as many. */
export const CAPS = { text: 30, picture: 8 } as const;
export const CONTAINERS = 3;

interface Scope {
  teardown(fn: () => unknown): void;
}

export interface ClusterOptions {
  /** Pictures are objects of an S3 store. */
  readonly hasStore?: boolean;
  /** Options of the program of the last container. */
  readonly lastFlags?: readonly string[];
}

/** A process of the service, and what is between it and the servers that it uses. */
export interface Container {
  readonly number: number;
  readonly database: FaultProxy;
  readonly store: FaultProxy | undefined;
  readonly url: string;
  /** How often it was started before. */
  starts: number;
  process: ServiceProcess;
}

/** What a container holds of the system. */
export interface Resources {
  readonly connections: number;
  readonly descriptors: number;
  readonly residentMiB: number;
}

/** Containers on one PostgreSQL, each behind proxies of its own. */
export class Cluster {
  readonly postgres: PostgresServer;
  readonly swift: SwiftServer | undefined;
  readonly containers: Container[] = [];
  readonly #scope: Scope;
  readonly #database: string;
  readonly #start = new Map<number, () => Promise<ServiceProcess>>();

  private constructor(
    scope: Scope,
    postgres: PostgresServer,
    database: string,
    swift: SwiftServer | undefined,
  ) {
    this.#scope = scope;
    this.postgres = postgres;
    this.#database = database;
    this.swift = swift;
  }

  static async start(t: Scope, { hasStore = false, lastFlags = [] }: ClusterOptions = {}): Promise<Cluster> {
    const postgres = await PostgresServer.start(t);
    const swift = hasStore ? await SwiftServer.start(t) : undefined;
    const cluster = new Cluster(t, postgres, await postgres.database(), swift);
    const bucket = await swift?.bucket();
    const start = async (number: number) => {
      const database = await FaultProxy.start(t, postgres.port);
      const store = swift && (await FaultProxy.start(t, Number(new URL(swift.endpoint).port)));
      const place = bucket && { ...bucket, kind: 's3' as const, endpoint: `http://127.0.0.1:${store!.port}` };
      const url = new URL(cluster.#database);
      url.port = String(database.port);
      const port = await freePort();
      const env = {
        ...containerSettings(url.href),
        ...imageSettings(place),
        PORT: String(port),
        SERVICE_MAX_NOTES_PER_FEED: String(CAPS.text),
        SERVICE_MAX_IMAGES_PER_FEED: String(CAPS.picture),
        SERVICE_CACHE_BYTES: String(8 * 2 ** 20),
        SERVICE_LOG_REQUESTS: '0',
      };
      const flags = number === CONTAINERS - 1 ? lastFlags : [];
      cluster.#start.set(number, () => ServiceProcess.start(t, { env, flags }));
      const process = await cluster.#start.get(number)!();
      cluster.containers.push({ number, database, store, url: process.url, starts: 0, process });
    };
    for (let number = 0; number < CONTAINERS; number += 1) await start(number);
    await untilAllKnow(postgres, cluster.#database, CONTAINERS);
    return cluster;
  }

  /** Starts a container that was killed again, at its address. */
  async restart(container: Container): Promise<void> {
    container.starts += 1;
    container.process = await this.#start.get(container.number)!();
  }

  /** Freezes PostgreSQL; returns what lets it go on. */
  freezePostgres(): Promise<() => void> {
    return this.postgres.freeze(this.#scope);
  }

  sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return this.postgres.sql(this.#database, text, values);
  }

  /** The processes of PostgreSQL that serve the service. */
  async backends(): Promise<{ pid: number; port: number; isListener: boolean }[]> {
    const rows = await this.sql(`SELECT pid, client_port, application_name FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    return rows.map(({ pid, client_port: port, application_name: name }) => ({
      pid: Number(pid),
      port: Number(port),
      isListener: name === 'note-feed-listener',
    }));
  }

  /** How many connections tell containers of changes. */
  async listeners(): Promise<number> {
    return (await this.backends()).filter(({ isListener }) => isListener).length;
  }

  /** What each container holds. */
  async resources(): Promise<Resources[]> {
    const backends = await this.backends();
    return Promise.all(
      this.containers.map(async ({ database, process: { pid } }) => {
        const status = await readFile(`/proc/${pid}/status`, 'utf8');
        const ports = database.ports;
        return {
          connections: backends.filter(({ port }) => ports.has(port)).length,
          descriptors: (await readdir(`/proc/${pid}/fd`)).length,
          residentMiB: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024),
        };
      }),
    );
  }
}

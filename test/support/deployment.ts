import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { composeServices, environmentOf } from './compose.ts';
import { freePort } from './free-port.ts';
import { type Nginx, startNginx } from './nginx.ts';
import { PostgresServer } from './postgres.ts';
import { tempDir } from './service.ts';
import { ServiceProcess } from './service-process.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** The address that the deployed service is to give itself. */
export const PUBLIC_URL = 'https://notes.example';

const CONTAINERS = ['notes1', 'notes2', 'notes3'] as const;

/**
 * What compose.postgres.yaml starts, without Docker: PostgreSQL, a process for each container of the service with the
 * environment it has there, and the proxy in front of them. Ports, and the places of secrets, are those of the test.
 */
export class Deployment {
  readonly proxy: Nginx;
  readonly containers: ServiceProcess[];
  readonly #t: Scope;
  readonly #environments: readonly Record<string, string>[];

  private constructor(
    t: Scope,
    proxy: Nginx,
    environments: readonly Record<string, string>[],
    containers: ServiceProcess[],
  ) {
    this.#t = t;
    this.proxy = proxy;
    this.#environments = environments;
    this.containers = containers;
  }

  /** Starts all of it, with these settings beside those of the compose file; it ends when the test ends. */
  static async start(t: Scope, settings: Record<string, string> = {}): Promise<Deployment> {
    const postgres = await PostgresServer.start(t);
    const dir = await tempDir(t);
    await chmod(dir, 0o755);
    const secrets = {
      database_url: await postgres.database(),
      service_secret: 'a secret of tests that is long enough',
    };
    for (const [name, secret] of Object.entries(secrets)) await writeFile(join(dir, name), `${secret}\n`);
    const services = composeServices('compose.postgres.yaml', { PUBLIC_URL });
    const environments: (Record<string, string> & { PORT: string })[] = [];
    for (const name of CONTAINERS) {
      const environment = environmentOf(services[name]!);
      for (const [key, value] of Object.entries(environment))
        environment[key] = value.replace('/run/secrets/', `${dir}/`);
      environments.push({
        SERVICE_RATE_LIMIT: '',
        ...environment,
        PORT: String(await freePort()),
        ...settings,
      });
    }
    const containers = await Promise.all(environments.map((env) => container(t, env)));
    const proxy = await startNginx(
      t,
      environments.map(({ PORT }) => PORT),
    );
    return new Deployment(t, proxy, environments, containers);
  }

  /** Starts one of the containers again, after its end. */
  async restart(place: number): Promise<void> {
    this.containers[place] = await container(this.#t, this.#environments[place]!);
  }
}

async function container(t: Scope, env: Record<string, string>): Promise<ServiceProcess> {
  const service = await ServiceProcess.launch(t, { env });
  await service.says('started');
  return service;
}

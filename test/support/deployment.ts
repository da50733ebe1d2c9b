import { randomInt } from 'node:crypto';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ComposeService, composeServices, environmentOf } from './compose.ts';
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
const SECRET = 'a secret of tests that is long enough';

/**
 * What compose.postgres.yaml starts, without Docker: PostgreSQL, a process for each container of the service with the
 * environment and the last part of the address that it has there, and the proxy in front of them.
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
    const secrets = await tempDir(t);
    await chmod(secrets, 0o755);
    await writeFile(join(secrets, 'database_url'), `${await postgres.database()}\n`);
    await writeFile(join(secrets, 'service_secret'), `${SECRET}\n`);
    // Of this machine's own addresses, for ports that are free now may be somebody's when a container comes back.
    const network = `127.${randomInt(1, 255)}.${randomInt(256)}`;
    const services = composeServices('compose.postgres.yaml', { PUBLIC_URL });
    const environments = CONTAINERS.map((name) => ({
      ...placed(services[name]!, network, secrets),
      ...settings,
    }));
    const containers = await Promise.all(environments.map((env) => container(t, env)));
    return new Deployment(t, await startNginx(t, network), environments, containers);
  }

  /** Starts one of the containers again, after its end. */
  async restart(place: number): Promise<void> {
    this.containers[place] = await container(this.#t, this.#environments[place]!);
  }
}

/** The environment of a service, with the address and the folder of secrets that it has in a test. */
function placed(service: ComposeService, network: string, secrets: string): Record<string, string> {
  const HOST = service.networks?.inside?.ipv4_address?.replace(/^172\.30\.84\b/, network) ?? '';
  const values = Object.entries(environmentOf(service));
  const environment = values.map(([name, value]) => [name, value.replace('/run/secrets', secrets)]);
  return { SERVICE_RATE_LIMIT: '', ...Object.fromEntries(environment), HOST, PORT: '3000' };
}

async function container(t: Scope, env: Record<string, string>): Promise<ServiceProcess> {
  const service = await ServiceProcess.launch(t, { env });
  await service.says('started');
  return service;
}

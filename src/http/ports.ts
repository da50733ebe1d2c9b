import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no address of that name',
  EAI_AGAIN: 'the address of that name cannot be found now',
  EADDRNOTAVAIL: 'this machine has no such address',
  EADDRINUSE: 'another program uses it',
  EACCES: 'this user may not listen there',
};

/** Why nothing can listen at an address, as a sentence; undefined if something can. Tries it. */
export async function portProblem(host: string, port: number): Promise<string | undefined> {
  try {
    (await listen({ host, port })).close();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Takes a free port that other sockets of this user can share, until it is released. (The HTTP library lets nobody share a
 * port that it has found itself.)
 * @throws Error with a sentence
 */
export async function takeFreePort(host: string): Promise<{ readonly port: number; release(): void }> {
  const server = await listen({ host, port: 0, reusePort: true });
  return { port: (server.address() as AddressInfo).port, release: () => server.close() };
}

async function listen(options: { host: string; port: number; reusePort?: boolean }): Promise<Server> {
  const server = createServer();
  try {
    await once(server.listen({ ...options, exclusive: true }), 'listening');
    return server;
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new Error(`cannot listen on ${options.host} port ${options.port}: ${REASONS[code] ?? code}`);
  }
}

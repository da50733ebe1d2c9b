import { once } from 'node:events';
import { createServer } from 'node:net';

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no address of that name',
  EAI_AGAIN: 'the address of that name cannot be found now',
  EADDRNOTAVAIL: 'this machine has no such address',
  EADDRINUSE: 'another program uses it',
  EACCES: 'it needs more rights',
};

/** Why nothing can listen at an address. Tries it with Node, because the HTTP library does not say why it failed. */
export async function listenProblem(host: string, port: number): Promise<string> {
  const server = createServer();
  try {
    await once(server.listen({ host, port, exclusive: true }), 'listening');
    server.close();
    return 'another program used it until now';
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return REASONS[code] ?? code;
  }
}

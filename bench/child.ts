import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import type { CommitOrder } from './commit-loop.ts';
import type { FormOrder, FormsAnswered } from './form-client.ts';
import type { ProbeOrder, Waits } from './probe.ts';
import type { Loaded, Order } from './raw-load.ts';
import { program, type ServerProcess } from './server-process.ts';
import type { StorageOrder } from './storage-loop.ts';

const execute = promisify(execFile);

async function answerOf<T>(name: string, order: object): Promise<T> {
  const { stdout } = await execute(process.execPath, [program(name), JSON.stringify(order)]);
  return JSON.parse(stdout);
}

/** What a loop without HTTP came to: notes a second. */
export interface Committed {
  readonly perSecond: number;
}

/** One round of load on a server. */
export interface Round extends Loaded {
  /** CPU time of the server per answer, microseconds. */
  readonly cpu: number;
}

/** Loads a URL with autocannon in a process of its own and counts the server's CPU time. */
export async function load(server: ServerProcess, order: Order): Promise<Round> {
  const before = server.cpuMicros();
  const loaded = await answerOf<Loaded>('client.ts', order);
  return { ...loaded, cpu: (server.cpuMicros() - before) / loaded.answers };
}

/** Reads a URL, or posts to it, at leisure from a process of its own and says what the client waits. */
export function probe(order: ProbeOrder): Promise<Waits> {
  return answerOf<Waits>('probe.ts', order);
}

/** Posts a form from several addresses, in a process of its own. */
export function postForms(order: FormOrder): Promise<FormsAnswered> {
  return answerOf<FormsAnswered>('form-client.ts', order);
}

/** Memory of the server per idle connection, in bytes, while that many are open. */
export async function idleBytes(server: ServerProcess, path: string, count: number): Promise<number> {
  const before = server.residentBytes();
  const args = [program('idle-client.ts'), new URL(server.url).port, path, String(count)];
  const client = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(client.stdout, 'data');
  const bytes = (server.residentBytes() - before) / count;
  client.stdin.end();
  await once(client, 'exit');
  return bytes;
}

/** Runs a bare loop of commits. */
export function commitLoop(order: CommitOrder): Promise<Committed> {
  return answerOf('./commit-loop.ts', order);
}

/** Posts straight to a storage. */
export function storageLoop(order: StorageOrder): Promise<Committed> {
  return answerOf('./storage-loop.ts', order);
}

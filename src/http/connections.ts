import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import { clientOfSocket } from './client-address.ts';
import type { HttpResponse } from './uws.ts';

/** Descriptors for storage and threads; of fewer than 768, a third. */
const RESERVED = 256;
/** A connection may also send a file. */
const DESCRIPTORS_OF_CONNECTION = 2;
/** One client may take half of the connections, unless a setting says otherwise. */
const PART_OF_CLIENT = 2;
/** At this part of all connections it is time to send requests elsewhere. */
const NEARLY_FULL = 0.9;
/** Least interval of counting the clients' connections, ms. */
const COUNT_INTERVAL = 1_000;

interface ConnectionLimits {
  /** Descriptors of the process; any number if undefined. */
  readonly descriptors: number | undefined;
  /** Connections of one client; 0 for any number, by default half of all. */
  readonly perClient: number | undefined;
  /** Those that share the port, and among which the kernel spreads the connections of each client. */
  readonly processes?: number | undefined;
}

/**
 * Limits open connections, because a process without free descriptors can neither store nor accept. Connections beyond a
 * limit are closed at once: left waiting, they would keep the accept loop busy.
 *
 * The binding does not say whose connection closes, so the kernel counts those of each client, and only while so many are
 * open that one client may soon have too many.
 */
export class Connections {
  open = 0;
  /** Connections that were closed at once. */
  refused = 0;
  readonly #most: number;
  /** Of all processes together; undefined for any number. */
  #perClient: number | undefined;
  /** Up to so many connections of this process, no client can have too many, so nothing is counted. */
  readonly #harmless: number;
  /** At least as many as each client has; undefined until they are counted. */
  #byClient: Map<string, number> | undefined;
  /** Accepted since the last count began. */
  #recent = new Map<string, number>();
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor({ descriptors = Number.POSITIVE_INFINITY, perClient, processes = 1 }: ConnectionLimits) {
    const reserved = Math.min(RESERVED, descriptors / 3);
    this.#most = Math.floor((descriptors - reserved) / DESCRIPTORS_OF_CONNECTION);
    this.#perClient = (perClient ?? Math.ceil(this.#most / PART_OF_CLIENT)) || undefined;
    this.#harmless = (this.#perClient ?? 0) / 2 / processes;
  }

  get isNearlyFull(): boolean {
    return this.open >= this.#most * NEARLY_FULL;
  }

  /** Counts a new connection to a local port, and closes it if it is one too many. */
  accept(res: HttpResponse, port: number): void {
    this.open++;
    if (this.open <= this.#most && this.#isWithinShare(res, port)) return;
    this.refused++;
    res.close();
  }

  /** Call it for every closed connection, also for those that `accept` closes. */
  release(): void {
    this.open--;
  }

  #isWithinShare(res: HttpResponse, port: number): boolean {
    if (this.#perClient === undefined) return true;
    if (this.open <= this.#harmless) {
      this.#byClient = undefined;
      return true;
    }
    this.#count(port);
    const client = clientOfSocket(res.getRemoteAddress());
    const count = this.#byClient === undefined ? this.open : (this.#byClient.get(client) ?? 0) + 1;
    if (count > this.#perClient) return false;
    this.#byClient?.set(client, count);
    this.#recent.set(client, (this.#recent.get(client) ?? 0) + 1);
    return true;
  }

  async #count(port: number): Promise<void> {
    const now = performance.now();
    if (now - this.#countedAt < COUNT_INTERVAL) return;
    this.#countedAt = now;
    this.#recent = new Map();
    const counts = await connectionsByClient(port);
    // The counts stay as they are; `accept` goes on adding to them.
    if (counts === 'later') return;
    if (counts === undefined) this.#perClient = undefined;
    for (const [client, count] of this.#recent) counts?.set(client, (counts.get(client) ?? 0) + count);
    this.#byClient = counts;
  }
}

/** How many descriptors the process may have; undefined if the system does not say (only Linux does). */
export function maxDescriptors(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

/** The kernel's tables of TCP sockets: IPv4 and, unless it is turned off, IPv6. Only Linux has them. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** Codes of errors after which a table can be read later. */
const PASSING = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

/**
 * How many connections to a local port each client has, by the kernel.
 * @returns undefined if the kernel does not say, and `later` if it cannot be asked now
 */
export async function connectionsByClient(
  port: number,
  [table, table6]: readonly string[] = TABLES,
): Promise<Map<string, number> | 'later' | undefined> {
  const counts = new Map<string, number>();
  try {
    countSockets(await readFile(table!, 'latin1'), port, counts);
    const sockets = await readFile(table6!, 'latin1').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    countSockets(sockets, port, counts);
    return counts;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return PASSING.has(code) ? 'later' : undefined;
  }
}

/** Adds the connections of a table. Takes about 1 ms for 2,000. */
export function countSockets(table: string, port: number, counts: Map<string, number>): void {
  const local = port.toString(16).toUpperCase().padStart(4, '0');
  // In the state "established".
  const sockets = new RegExp(`:${local} ([0-9A-F]+):[0-9A-F]{4} 01 `, 'g');
  for (const [, remote = ''] of table.matchAll(sockets)) {
    const client = clientOfSocket(addressBytes(remote));
    counts.set(client, (counts.get(client) ?? 0) + 1);
  }
}

/** The bytes of an address, which the kernel writes as numbers of 32 bits in its own byte order. */
function addressBytes(hex: string): ArrayBuffer {
  const bytes = Buffer.from(hex, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  return Uint8Array.from(bytes).buffer;
}

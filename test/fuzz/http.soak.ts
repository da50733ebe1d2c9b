/**
 * Sends valid requests, nearly valid ones and garbage to the real process. It must answer every complete request correctly
 * and leak nothing. `FUZZ_SECONDS=600` runs it for ten minutes, `FUZZ_SEED` repeats a run.
 */
import { randomInt } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FuzzClient } from '../support/fuzz/client.ts';
import { holdsFor } from '../support/fuzz/holds-for.ts';
import { Known } from '../support/fuzz/known.ts';
import { type FuzzRequest, fuzzRequest, TABLE } from '../support/fuzz/requests.ts';
import {
  FEEDS,
  INSTANCE_PASSWORD,
  LOCKED_FEEDS,
  RESERVED_FEED,
  RESERVED_PASSWORD,
} from '../support/fuzz/values.ts';
import { faultOf } from '../support/fuzz/well-formed.ts';
import { handlesOf, INSPECTABLE, usedBy } from '../support/inspected-process.ts';
import { ServiceProcess } from '../support/service-process.ts';

const SECONDS = Number(process.env.FUZZ_SECONDS ?? 12);
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
const WARM_UP_SECONDS = Math.max(6, SECONDS / 10);
const CLIENTS = 8;
/** Requests at most that are sent before it is looked whether all is well. */
const BATCH = 64;
/** Batches from one time that feeds lose their passwords to the next. */
const UNLOCK_EVERY = 20;
const EXIT_MS = 1_000;
const MIB = 1024 * 1024;
/** The least that a form of the largest size needs. */
const BODY_MEMORY = 70 * MIB;
/** What may come to be held after the warm-up: the read ids of deleted feeds, and memory the allocator keeps. */
const HEAP_GROWTH = 16 * MIB;
/** Buffers of bodies are kept for the next ones, as many as the body memory holds. */
const EXTERNAL_GROWTH = BODY_MEMORY + 8 * MIB;
/** The heaps of four threads that read texts grow with the largest text each has met. */
const RESIDENT_GROWTH = 256 * MIB;
/** A folder being watched or a file being written just then. */
const HANDLE_GROWTH = 4;

const ENV = {
  SERVICE_PASSWORD: INSTANCE_PASSWORD,
  SERVICE_RESERVED_FEEDS: RESERVED_FEED,
  SERVICE_RESERVED_PASSWORD: RESERVED_PASSWORD,
  SERVICE_RATE_LIMIT: '0',
  SERVICE_TRUST_PROXY: '1',
  SERVICE_METRICS: '1',
  // Small, so that it is full after the warm-up.
  SERVICE_CACHE_BYTES: String(2 * MIB),
  SERVICE_BODY_MEMORY_BYTES: String(BODY_MEMORY),
};

t.setTimeout((SECONDS + WARM_UP_SECONDS + 300) * 1000);

const onLinux = process.platform === 'linux' ? {} : { skip: 'open files are counted in /proc' };

t.test('whatever comes is answered well, and nothing of it is kept', onLinux, async (t) => {
  const service = await ServiceProcess.start(t, { env: ENV, flags: [INSPECTABLE] });
  const fuzz = new Fuzz(service);
  await fuzz.run(WARM_UP_SECONDS, SEED);
  await fuzz.rest();
  const before = await usedBy(service);

  await fuzz.run(SECONDS, SEED + 1);
  await fuzz.rest();
  t.ok(await eventually(() => handlesOf(service) <= before.handles + HANDLE_GROWTH), 'files are closed');
  const after = await usedBy(service);
  t.comment(fuzz.summary());
  for (const [what, value] of Object.entries(after))
    t.comment(what, before[what as keyof typeof before], value);
  t.ok(after.heap < before.heap + HEAP_GROWTH, 'no object is kept');
  t.ok(after.external < before.external + EXTERNAL_GROWTH, 'no buffer is kept');
  t.ok(after.resident < before.resident + RESIDENT_GROWTH, 'the process has not grown');
  t.same(await service.kill('SIGTERM'), { code: 0, signal: null }, 'it stops as it should');
});

/** A run of requests against a service, and what came of them. */
class Fuzz {
  readonly #service: ServiceProcess;
  readonly #known = new Known();
  readonly #statuses = new Map<string, number>();
  /** Operations that were done. */
  readonly #reached = new Set<string>();
  #clients: FuzzClient[] = [];
  #batches = 0;

  constructor(service: ServiceProcess) {
    this.#service = service;
  }

  /** Sends batches of requests for at most `seconds`; throws at the first wrong answer. */
  async run(seconds: number, seed: number): Promise<void> {
    this.#clients = Array.from({ length: CLIENTS }, () => new FuzzClient(this.#service.port));
    const batch = fc.array(fuzzRequest, { minLength: 1, maxLength: BATCH, size: 'max' });
    // What it made of the requests before is part of a failure, so fewer requests would show nothing.
    await holdsFor(seconds, batch, (requests) => this.#send(requests), { seed, endOnFailure: true });
  }

  /** Lets go of all connections and waits until the service has done what it was at. */
  async rest(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    let handles = Number.POSITIVE_INFINITY;
    await eventually(() => {
      const last = handles;
      handles = handlesOf(this.#service);
      return handles === last;
    });
  }

  summary(): string {
    const total = [...this.#statuses.values()].reduce((sum, count) => sum + count, 0);
    const parts = [...this.#statuses].sort().map(([status, count]) => `${status}: ${count}`);
    const missed = TABLE.map(({ method, path }) => `${method} ${path}`).filter(
      (one) => !this.#reached.has(one),
    );
    return `seed ${SEED}, ${total} answers (${parts.join(', ')}); never with success: ${missed.join(', ') || 'none'}`;
  }

  async #send(requests: readonly FuzzRequest[]): Promise<void> {
    if (this.#batches++ % UNLOCK_EVERY === 0) await this.#unlock();
    const lane = async (client: FuzzClient, number: number) => {
      for (let n = number; n < requests.length; n += CLIENTS) await this.#sendOne(client, requests[n]!);
    };
    const ends = await Promise.allSettled(this.#clients.map(lane));
    const failure = ends.find((end) => end.status === 'rejected');
    // The end of a process is heard of a little later than by its clients.
    if (failure !== undefined) await Promise.race([this.#service.exit, delay(EXIT_MS)]);
    if (!this.#service.isRunning) throw await this.#ended();
    if (failure !== undefined) throw failure.reason;
    for (const line of this.#service.lines.splice(0)) this.#check(line);
  }

  /** Why the service has ended, as far as it says. */
  async #ended(): Promise<Error> {
    const exit = await this.#service.exit;
    const last = this.#service.lines.slice(-CLIENTS);
    return new Error(`the service has ended: ${JSON.stringify([exit, last])} ${this.#service.errors}`);
  }

  #check(line: Record<string, unknown>): void {
    const text = JSON.stringify(line);
    if (line.level === 'error') throw new Error(`an error in the log: ${text}`);
    if ([...FEEDS, ...LOCKED_FEEDS].some((name) => text.includes(name)))
      throw new Error(`a feed name in the log: ${text}`);
    if (Number(line.status) < 400) this.#reached.add(`${line.method} ${line.route}`);
  }

  /** Opens feeds to which requests gave passwords that no other request knows. */
  async #unlock(): Promise<void> {
    for (const name of [...FEEDS, ...LOCKED_FEEDS])
      await rm(join(this.#service.dir, name, '.password'), { force: true });
  }

  async #sendOne(client: FuzzClient, marked: FuzzRequest): Promise<void> {
    const request = this.#known.fill(marked);
    const fail = (what: string, cause?: unknown): never => {
      const shown = JSON.stringify({ ...request, body: request.body.toString('latin1') }).slice(0, 3_000);
      throw new Error(`${what}, to ${shown}`, { cause });
    };
    const responses = await client.send(request).catch((cause) => fail('no answer', cause));
    if (responses.length === 0) this.#count('none');
    for (const response of responses) {
      this.#count(String(response.status));
      const fault = faultOf(request, response);
      if (fault !== undefined) fail(`${fault}: ${response.status} ${response.body}`);
      if (response.status === 201) this.#known.learn(JSON.parse(response.body.toString()));
    }
  }

  #count(what: string): void {
    this.#statuses.set(what, (this.#statuses.get(what) ?? 0) + 1);
  }
}

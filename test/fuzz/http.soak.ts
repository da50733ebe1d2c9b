/**
 * Sends valid requests, nearly valid ones and garbage to the real process. It must answer every complete request correctly
 * and leak nothing. `FUZZ_SECONDS=600` runs it for ten minutes, `FUZZ_REQUESTS=1000000` until so many are sent, however long that
 * takes, and `FUZZ_SEED` repeats the requests of a run.
 */
import { randomInt } from 'node:crypto';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { FuzzClient } from '../support/fuzz/client.ts';
import { Known } from '../support/fuzz/known.ts';
import { FIRST, type FuzzRequest, requestMaker, TABLE } from '../support/fuzz/requests.ts';
import {
  FEEDS,
  INSTANCE_PASSWORD,
  LOCKED_FEEDS,
  OPERATOR_TOKEN,
  RESERVED_FEED,
  RESERVED_PASSWORD,
} from '../support/fuzz/values.ts';
import { faultOf } from '../support/fuzz/well-formed.ts';
import { isWhole } from '../support/fuzz/wire.ts';
import { handlesOf, INSPECTABLE, usedBy } from '../support/inspected-process.ts';
import { HOSTED } from '../support/licenses.ts';
import { tempDir } from '../support/service.ts';
import { ServiceProcess } from '../support/service-process.ts';

/** Undefined: until the time is over. */
const REQUESTS = process.env.FUZZ_REQUESTS === undefined ? undefined : Number(process.env.FUZZ_REQUESTS);
const SECONDS = Number(process.env.FUZZ_SECONDS ?? 12);
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
const WARM_UP_SECONDS = Math.max(6, SECONDS / 10);
/** So many that the service has work while some of them wait for the disk, or only look for an answer. */
const CLIENTS = 48;
/** Requests from one time that feeds lose their passwords and blocks to the next. */
const UNLOCK_EVERY = 600;
const REPORT_EVERY_MS = 60_000;
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
/** More of both for each note that is made: its place in the index; its words, and what threads have for it. */
const HEAP_PER_NOTE = 512;
const RESIDENT_PER_NOTE = 8 * 1024;
/** A folder being watched or a file being written just then. */
const HANDLE_GROWTH = 4;

const ENV = {
  SERVICE_PASSWORD: INSTANCE_PASSWORD,
  SERVICE_RESERVED_FEEDS: RESERVED_FEED,
  SERVICE_RESERVED_PASSWORD: RESERVED_PASSWORD,
  SERVICE_RATE_LIMIT: '0',
  SERVICE_TRUST_PROXY: '1',
  SERVICE_METRICS: '1',
  SERVICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
  SERVICE_REPORT_URL: 'builtin',
  ...HOSTED,
  // Small, so that it is full after the warm-up.
  SERVICE_CACHE_BYTES: String(2 * MIB),
  SERVICE_BODY_MEMORY_BYTES: String(BODY_MEMORY),
};

/** Plain files keep pictures beside the notes, so there is no store of pictures, and these are refused (`no_image_store`). */
const UNREACHABLE = new Set(['countUnreferencedImages', 'removeUnreferencedImages', 'moveImages']);

t.setTimeout((SECONDS + WARM_UP_SECONDS + 300 + (REQUESTS ?? 0) / 10) * 1000);

const onLinux = process.platform === 'linux' ? {} : { skip: 'open files are counted in /proc' };

t.test('whatever comes is answered well, and nothing of it is kept', onLinux, async (t) => {
  const texts = await tempDir(t);
  const legal = join(texts, 'legal.md');
  await writeFile(legal, '# A legal text');
  await Promise.all([chmod(texts, 0o755), chmod(legal, 0o644)]);
  const env = { ...ENV, SERVICE_IMPRINT_FILE: legal, SERVICE_PRIVACY_FILE: legal, SERVICE_TERMS_FILE: legal };
  const service = await ServiceProcess.start(t, { env, flags: [INSPECTABLE] });
  const fuzz = new Fuzz(service);
  await fuzz.run(WARM_UP_SECONDS, SEED);
  await fuzz.rest();
  const before = await usedBy(service);

  const seconds = REQUESTS === undefined ? SECONDS : Number.POSITIVE_INFINITY;
  await fuzz.run(seconds, SEED + 1, REQUESTS, (text) => t.comment(text));
  await fuzz.rest();
  t.ok(await eventually(() => handlesOf(service) <= before.handles + HANDLE_GROWTH), 'files are closed');
  const after = await usedBy(service);
  t.comment(fuzz.summary());
  for (const [what, value] of Object.entries(after))
    t.comment(what, before[what as keyof typeof before], value);
  const { made } = fuzz;
  t.ok(after.heap < before.heap + HEAP_GROWTH + made * HEAP_PER_NOTE, 'no object is kept');
  t.ok(after.external < before.external + EXTERNAL_GROWTH, 'no buffer is kept');
  const resident = before.resident + RESIDENT_GROWTH + made * RESIDENT_PER_NOTE;
  t.ok(after.resident < resident, 'the process has not grown');
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
  #lateIndexes = 0;
  #startedAt = 0;
  /** Since then. */
  #answers = 0;

  constructor(service: ServiceProcess) {
    this.#service = service;
  }

  /**
   * Sends requests for `seconds`, or a few of each operation if that takes longer; throws at the first wrong answer.
   * @param most how many requests to send at most
   */
  async run(
    seconds: number,
    seed: number,
    most = Number.POSITIVE_INFINITY,
    report: (text: string) => void = () => {},
  ): Promise<void> {
    this.#clients = Array.from({ length: CLIENTS }, () => new FuzzClient(this.#service.port));
    const next = requestMaker(seed);
    const end = performance.now() + seconds * 1000;
    this.#startedAt = performance.now();
    this.#answers = 0;
    let reportAt = this.#startedAt + REPORT_EVERY_MS;
    let sent = 0;
    let isFailed = false;
    const lane = async (client: FuzzClient) => {
      while (!isFailed && sent < most && (performance.now() < end || sent < FIRST)) {
        sent += 1;
        const number = sent;
        if (number % UNLOCK_EVERY === 1) await this.#unlock();
        await this.#sendOne(client, next(), number);
        for (const line of this.#service.lines.splice(0)) this.#check(line);
        if (performance.now() < reportAt) continue;
        reportAt += REPORT_EVERY_MS;
        report(this.summary());
      }
    };
    const ends = await Promise.allSettled(
      this.#clients.map((client) =>
        lane(client).catch((cause) => {
          isFailed = true;
          throw cause;
        }),
      ),
    );
    const failure = ends.find((one) => one.status === 'rejected');
    // The end of a process is heard of a little later than by its clients.
    if (failure !== undefined) await Promise.race([this.#service.exit, delay(EXIT_MS)]);
    if (!this.#service.isRunning) throw await this.#ended();
    if (failure !== undefined) throw failure.reason;
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

  get made(): number {
    return this.#statuses.get('201') ?? 0;
  }

  summary(): string {
    const total = [...this.#statuses.values()].reduce((sum, count) => sum + count, 0);
    const parts = [...this.#statuses].sort().map(([status, count]) => `${status}: ${count}`);
    const missed = TABLE.filter(({ id }) => !UNREACHABLE.has(id))
      .map(({ method, path }) => `${method} ${path}`)
      .filter((one) => !this.#reached.has(one));
    const rate = Math.round((1000 * this.#answers) / (performance.now() - this.#startedAt));
    return `seed ${SEED}, ${total} answers, ${rate}/s (${parts.join(', ')}); never with success: ${missed.join(', ') || 'none'}; the index was late ${this.#lateIndexes} times`;
  }

  /** Why the service has ended, as far as it says. */
  async #ended(): Promise<Error> {
    const exit = await this.#service.exit;
    const last = this.#service.lines.slice(-8);
    return new Error(`the service has ended: ${JSON.stringify([exit, last])} ${this.#service.errors}`);
  }

  #check(line: Record<string, unknown>): void {
    const text = JSON.stringify(line);
    // Its thread is the nicest, and its limit is time that passes, so other work of the machine can stop it.
    if (text.includes('the search index cannot be kept up') && text.includes('the thread hangs')) {
      this.#lateIndexes += 1;
      return;
    }
    if (line.level === 'error') throw new Error(`an error in the log: ${text}`);
    if ([...FEEDS, ...LOCKED_FEEDS].some((name) => text.includes(name)))
      throw new Error(`a feed name in the log: ${text}`);
    if (Number(line.status) < 400) this.#reached.add(`${line.method} ${line.route}`);
  }

  /** Opens feeds to which requests gave passwords that no other request knows, and names that are blocked. */
  async #unlock(): Promise<void> {
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
    for (const name of FEEDS)
      await fetch(`${this.#service.url}/api/operator/blocks/${name}`, { method: 'DELETE', headers });
    for (const name of [...FEEDS, ...LOCKED_FEEDS])
      await rm(join(this.#service.dir, name, '.password'), { force: true });
  }

  async #sendOne(client: FuzzClient, marked: FuzzRequest, number: number): Promise<void> {
    const request = this.#known.fill(marked);
    const fail = (what: string, cause?: unknown): never => {
      const shown = JSON.stringify({ ...request, body: request.body.toString('latin1') }).slice(0, 3_000);
      throw new Error(`seed ${SEED}, request ${number}: ${what}, to ${shown}`, { cause });
    };
    const responses = await client.send(request).catch((cause) => {
      // An export breaks off if another request removes its feed meanwhile, so that nobody takes a part for the whole.
      if (request.path.includes('/export')) return [];
      return fail('no answer', cause);
    });
    if (responses.length === 0) this.#count('none');
    for (const response of responses) {
      this.#count(String(response.status));
      const fault = faultOf(request, response);
      if (fault !== undefined) fail(`${fault}: ${response.status} ${response.body}`);
      if (isWhole(request) && request.method !== 'HEAD') this.#known.learn(request, response);
    }
  }

  #count(what: string): void {
    this.#answers += 1;
    this.#statuses.set(what, (this.#statuses.get(what) ?? 0) + 1);
  }
}

/**
 * Listeners get every note once and in one order, over reconnects, kills of the service, and changes of the container.
 * `NOTES=10000` posts more than the default.
 */
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { containerSettings } from '../support/containers.ts';
import { times } from '../support/effort.ts';
import { eventually } from '../support/eventually.ts';
import { FeedClient, readIdIn } from '../support/feed-client.ts';
import { NoteStream } from '../support/note-stream.ts';
import { PostgresServer } from '../support/postgres.ts';
import { dataDir, type ProcessOptions, ServiceProcess } from '../support/service-process.ts';

const NOTES = Number(process.env.NOTES ?? times(200, 2_000));
const RECONNECTS = times(10, 40);
const KILLS = times(1, 4);
const POSTERS = 4;
/** Far below a hundred, because some notes are stored without an answer: up to one of each poster at each kill. */
const MAX_MISSED = 50;
const FEED = 'grebe';
/** What a container says if it may have missed changes: then its listeners have to load all notes again. */
const UNSURE = 'changes of other processes are not found: the cache is disabled';

t.setTimeout(times(600_000, 1_800_000));

/** Services on the same data, some of which are killed. */
class Killed {
  readonly #services: ServiceProcess[] = [];
  readonly #killed: ServiceProcess[] = [];
  #turn = 0;

  /** How often any of them may have missed changes, as on a machine that is too busy. */
  get doubts(): number {
    const lines = [...this.#services, ...this.#killed].flatMap(({ lines }) => lines);
    return lines.filter(({ msg }) => msg === UNSURE).length;
  }

  /** The address of each in turn. */
  get url(): string {
    this.#turn += 1;
    return this.#services[this.#turn % this.#services.length]!.url;
  }

  static async start(t: Test, options: ProcessOptions, count: number): Promise<Killed> {
    const all = new Killed();
    for (let n = 0; n < count; n += 1) all.#services.push(await ServiceProcess.start(t, options));
    return all;
  }

  /** Kills one, and starts another in its place. */
  async kill(t: Test, options: ProcessOptions): Promise<void> {
    const n = this.#turn % this.#services.length;
    await this.#services[n]!.kill('SIGKILL');
    this.#killed.push(this.#services[n]!);
    this.#services[n] = await ServiceProcess.start(t, options);
  }
}

/** A client that connects again whenever its stream ends. */
class Follower {
  connections = 0;
  readonly #before: string[] = [];
  #resets = 0;
  #lastId = '0';
  #stream: NoteStream | undefined;
  #isOver = false;

  get ids(): string[] {
    return [...this.#before, ...(this.#stream?.ids() ?? [])];
  }

  /** How many notes it has. */
  get count(): number {
    return this.#before.length + (this.#stream?.events.length ?? 0);
  }

  get resets(): number {
    return this.#resets + (this.#stream?.ids('reset').length ?? 0);
  }

  async follow(t: Test, address: () => string, headers: Record<string, string>): Promise<void> {
    while (!this.#isOver) {
      const known = { ...headers, 'last-event-id': this.#lastId };
      const stream = await NoteStream.open(t, address(), known).catch(() => undefined);
      if (stream?.response.statusCode === 200) {
        this.connections += 1;
        this.#stream = stream;
        // It may have been stopped while it connected.
        if (this.#isOver) this.drop();
        while (!stream.isEnded) await delay(5);
        this.#resets += stream.ids('reset').length;
        this.#before.push(...stream.ids());
        this.#lastId = stream.lastId ?? this.#lastId;
        this.#stream = undefined;
      } else await delay(20);
    }
  }

  /** Waits until it is connected. */
  async dropOnce(): Promise<void> {
    while (this.#stream === undefined) await delay(1);
    this.drop();
  }

  drop(): void {
    this.#stream?.close();
  }

  stop(): void {
    this.#isOver = true;
    this.drop();
  }
}

async function everyNoteOnce(t: Test, options: ProcessOptions, count = 1): Promise<void> {
  const services = await Killed.start(t, options, count);
  const { json } = await new FeedClient(services.url, FEED).post('first');
  const stored = [json.id as string];
  const byReadId = `/r/${readIdIn(json.read_url)}/events?notes=1`;
  const byName = `/api/v1/feeds/${FEED}/events`;
  const followers = Array.from({ length: 4 }, () => new Follower());
  const following = followers.map((follower, n) =>
    n % 2
      ? follower.follow(t, () => services.url + byName, { accept: 'application/x-ndjson' })
      : follower.follow(t, () => services.url + byReadId, {}),
  );
  t.ok(await eventually(() => followers.every(({ connections }) => connections > 0)));
  const post = async () => {
    while (stored.length < NOTES) {
      // Who misses more than a hundred is not told of all.
      while (followers.some(({ count }) => count < stored.length - MAX_MISSED)) await delay(1);
      const reply = await new FeedClient(services.url, FEED).post(`${stored.length}`).catch(() => undefined);
      if (reply?.status === 201) stored.push(reply.json.id);
      else await delay(20);
    }
  };
  /** Waits until so much of the notes is stored. */
  const at = (part: number) => async () => stored.length >= NOTES * part;
  const reach = async (part: number) => {
    while (!(await at(part)())) await delay(2);
  };
  const drop = async () => {
    for (let n = 1; n <= RECONNECTS; n += 1) {
      await reach(n / (RECONNECTS + 1));
      // The last one hears all without a break but for kills.
      for (const follower of followers.slice(0, -1)) await follower.dropOnce();
    }
  };
  const kill = async () => {
    for (let n = 1; n <= KILLS; n += 1) {
      await reach(n / (KILLS + 1));
      await services.kill(t, options);
    }
  };
  await Promise.all([...Array.from({ length: POSTERS }, post), drop(), kill()]);
  for (const follower of followers) {
    const hasAll = () => {
      const heard = new Set(follower.ids);
      return stored.every((id) => heard.has(id));
    };
    t.ok(await eventually(hasAll), 'every note');
    t.equal(new Set(follower.ids).size, follower.ids.length, 'once');
    if (services.doubts === 0) t.equal(follower.resets, 0);
    t.same(follower.ids, followers[0]!.ids, 'in one order');
  }
  t.ok(followers[0]!.connections > RECONNECTS / 2, `${followers[0]!.connections} connections`);
  for (const follower of followers) follower.stop();
  await Promise.all(following);
}

t.test('plain files', async (t) =>
  everyNoteOnce(t, { dir: await dataDir(t), env: { SERVICE_TRUST_PROXY: '1' } }),
);

t.test('SQLite', async (t) => {
  const env = { SERVICE_STORAGE: 'sqlite', SERVICE_SECRET: 'a secret of tests that is long enough' };
  await everyNoteOnce(t, { dir: await dataDir(t), env: { ...env, SERVICE_TRUST_PROXY: '1' } });
});

t.test('three containers on PostgreSQL', async (t) => {
  const server = await PostgresServer.start(t);
  await everyNoteOnce(t, { env: containerSettings(await server.database()) }, 3);
});

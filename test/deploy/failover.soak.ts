/** Three containers on one PostgreSQL behind nginx, of which one goes away in the middle of posts. */
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { missing } from '../support/installed.ts';
import { ask, post } from '../support/service.ts';

const CLIENTS = 8;
const FEEDS = 4;
/** How many posts are acknowledged before something happens, and after it. */
const SOME_POSTS = 60;

const skip = missing('nginx');

/** Clients that post one note after the other through the proxy. */
class Posters {
  /** The texts of notes that were answered with 201, by their feeds. */
  readonly acknowledged = new Map<string, string[]>();
  /** All other answers. */
  readonly refusals: string[] = [];
  count = 0;
  readonly #url: string;
  readonly #posting: Promise<unknown>;
  #isOver = false;

  constructor(url: string, name: string) {
    this.#url = url;
    const clients = Array.from({ length: CLIENTS }, (_, client) =>
      this.#post(`${name}-${client % FEEDS}`, client),
    );
    this.#posting = Promise.all(clients);
  }

  /** Settles when that many more were acknowledged. */
  async more(posts: number): Promise<void> {
    for (const wanted = this.count + posts; this.count < wanted; ) await delay(20);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#posting;
  }

  async #post(feed: string, client: number): Promise<void> {
    for (let i = 0; !this.#isOver; i += 1) {
      const text = `note ${i} of client ${client}`;
      const { status, text: answer } = await post(`${this.#url}/${feed}`, text);
      if (status !== 201) {
        this.refusals.push(`${status} ${answer}`);
        continue;
      }
      this.count += 1;
      this.acknowledged.set(feed, [...(this.acknowledged.get(feed) ?? []), text]);
    }
  }
}

/** The texts of all notes of a feed. */
async function textsOf(url: string, feed: string): Promise<Set<string>> {
  const texts = new Set<string>();
  for (let before = ''; ; ) {
    const { json } = await ask(`${url}/api/v1/feeds/${feed}/notes?limit=100${before}`);
    for (const { content } of json.notes) texts.add(content);
    if (json.next === null) return texts;
    before = `&before=${encodeURIComponent(json.next)}`;
  }
}

async function nothingIsLost(t: Test, url: string, { acknowledged }: Posters): Promise<void> {
  for (const [feed, texts] of acknowledged) {
    const stored = await textsOf(url, feed);
    t.strictSame(
      texts.filter((text) => !stored.has(text)),
      [],
      `of ${texts.length} notes in ${feed}`,
    );
  }
}

t.test(
  'when one of three containers goes away in the middle of posts',
  { skip, timeout: 600_000 },
  async (t) => {
    const deployment = await Deployment.start(t, { SERVICE_RATE_LIMIT: '0' });
    const { proxy, containers } = deployment;
    const { url } = proxy;

    t.test('a kill loses nothing that was acknowledged, and the others go on', async (t) => {
      const posters = new Posters(url, 'killed');
      await posters.more(SOME_POSTS);
      await containers[1]!.kill('SIGKILL');
      await posters.more(SOME_POSTS);
      await posters.stop();
      t.ok(posters.refusals.length <= CLIENTS, 'nobody fails but those whose post it was at');
      for (const refusal of posters.refusals) t.match(refusal, /^502 \{.*"store_unavailable"\}$/);
      await nothingIsLost(t, url, posters);
    });

    t.test('it is asked again as soon as it is back', async (t) => {
      await deployment.restart(1);
      const lines = () => containers[1]!.lines.filter(({ msg }) => msg === 'note posted').length;
      const posters = new Posters(url, 'back');
      t.ok(await eventually(() => lines() > 0));
      await posters.stop();
      t.strictSame(posters.refusals, []);
    });

    t.test('a stop in order loses nothing, and hardly anybody notices', async (t) => {
      const posters = new Posters(url, 'stopped');
      await posters.more(SOME_POSTS);
      const exit = await containers[2]!.kill('SIGTERM');
      t.strictSame(exit, { code: 0, signal: null });
      await posters.more(SOME_POSTS);
      await posters.stop();
      t.comment(`${posters.refusals.length} posts of ${posters.count} failed`);
      t.ok(posters.refusals.length <= CLIENTS);
      await nothingIsLost(t, url, posters);
    });

    t.test(
      'without any container the answer is an error like all others, and the log names no feed',
      async (t) => {
        await Promise.all(containers.map((container) => container.kill('SIGKILL')));
        const { status, json, headers } = await post(`${url}/secret-feed`, 'x');
        t.match({ status, json }, { status: 502, json: { code: 'store_unavailable', error: /./ } });
        t.match(headers.get('content-type'), /^application\/json/);
        t.ok(await eventually(async () => (await proxy.logged()).includes('"status":502')));
        t.notMatch(await proxy.logged(), 'secret-feed');
      },
    );
  },
);

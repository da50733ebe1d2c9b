import { randomUUID } from 'node:crypto';
import type { Backend } from './load/services.ts';
import { answered, type Load } from './load/write-kind.ts';
import { field, png } from './multipart.ts';
import { picture } from './pictures.ts';
import { q } from './searching.ts';
import { ask, type Reply } from './service.ts';

type Moment = 'before' | 'after' | 'idle';
type Death = 'exit' | 'throw' | 'memory';

/** A kind of helper thread, by its file in `workers/`. */
export interface Helper {
  readonly work: string;
  readonly backends: readonly Backend[];
  readonly moments: readonly Moment[];
  readonly deaths: readonly Death[];
  /** Has a thread do this work. */
  use(load: Load): Promise<Reply>;
}

const ALL: readonly Backend[] = ['fs', 'sqlite', 'postgres'];
/** A thread without a limit of its own would take all memory of the process. */
const POOLED = {
  backends: ALL,
  moments: ['before', 'after'],
  // To fill the memory takes a second or more.
  deaths: ['exit', 'throw', 'exit', 'throw', 'memory'],
} as const;
const OWN = { moments: ['before', 'after', 'idle'], deaths: ['exit', 'throw'] } as const;
const FEED = 'used';

/** Paragraphs that no page had before, with what the quick reader does not take. */
function longText(length: number): string {
  return `# ${randomUUID()}\n\n| a | b |\n|---|---|\n| *c* | \`d\` |\n\n${`- some *words* and ${randomUUID()}\n`.repeat(length / 60)}`;
}

async function postAndRead(
  load: Load,
  text: string,
  path: string,
  { feed = FEED, coding = 'identity' } = {},
): Promise<Reply> {
  const { json } = answered(await load.feed(feed).post(text), 201);
  const address = json.read_url.replace('feed.xml', path);
  return ask(address, { headers: { 'accept-encoding': coding } });
}

const post = (load: Load) => load.feed(FEED).post(randomUUID());

/** Every kind of helper thread. */
export const HELPERS: readonly Helper[] = [
  { work: 'render-texts', ...POOLED, use: (load) => postAndRead(load, longText(3_000), 'feed.xml') },
  { work: 'compose', ...POOLED, use: (load) => postAndRead(load, longText(60_000), 'feed.json') },
  {
    work: 'compress',
    ...POOLED,
    // What is rendered at once is composed at once.
    use: (load) => postAndRead(load, `plain ${randomUUID()}`, 'feed.xml', { feed: 'plain', coding: 'br' }),
  },
  {
    work: 'find-matches',
    ...POOLED,
    use: async (load) => {
      const feed = load.feed(FEED);
      answered(await feed.post(longText(20_000)), 201);
      return feed.list(q(`words -${randomUUID().slice(0, 8)}`));
    },
  },
  {
    work: 'hash-password',
    ...POOLED,
    use: (load) => load.feed(`protected-${randomUUID()}`).post('x', { 'x-feed-password': 'a password' }),
  },
  {
    work: 'verify-password',
    ...POOLED,
    use: async (load) => {
      const name = 'locked';
      answered(await load.feed(name, { 'x-feed-password': 'the right one' }).post('x'), 201);
      const reply = await load.feed(name, { 'x-feed-password': `wrong ${randomUUID()}` }).get();
      return reply.status === 401 ? { ...reply, status: 200 } : reply;
    },
  },
  {
    work: 'inspect-picture',
    ...POOLED,
    use: (load) => load.feed(FEED).post(picture('png', 100_000), { 'content-type': 'image/png' }),
  },
  {
    work: 'rewrite-references',
    ...POOLED,
    // Whose work fills the memory is refused for good: only a text can.
    deaths: OWN.deaths,
    use: (load) =>
      load.feed(FEED).postForm([field('text', '![](<a.png>)'), png('a.png', picture('png', 500))]),
  },
  {
    work: 'read-hook',
    ...POOLED,
    use: (load) =>
      load.feed(FEED).send('POST', '/hooks/generic', JSON.stringify({ title: 'a', text: longText(100_000) })),
  },
  {
    work: 'parse-message',
    ...POOLED,
    use: (load) => {
      const params = { _meta: { text: longText(300_000) } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params });
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      };
      return ask(`${load.url}/mcp`, { method: 'POST', headers, body });
    },
  },
  { work: 'write-files', ...OWN, backends: ['fs'], use: post },
  {
    work: 'watch-files',
    ...OWN,
    backends: ['fs'],
    // It is told of new feeds.
    use: (load) => load.feed(randomUUID()).post('x'),
  },
  { work: 'write-sqlite', ...OWN, backends: ['sqlite'], use: post },
  {
    work: 'read-sqlite',
    ...OWN,
    backends: ['sqlite'],
    use: (load) => load.feed(FEED).list(`?limit=${load.random.below(100) + 1}`),
  },
  {
    work: 'checkpoint-sqlite',
    ...OWN,
    backends: ['sqlite'],
    use: (load) => load.feed(FEED).post(picture('png', 3_000_000), { 'content-type': 'image/png' }),
  },
  { work: 'index-notes', ...OWN, backends: ['fs', 'sqlite'], use: post },
  {
    work: 'search-notes',
    ...OWN,
    backends: ['fs', 'sqlite'],
    use: async (load) => {
      // A feed without notes needs no search.
      answered(await post(load), 201);
      return load.feed(FEED).list(q(randomUUID()));
    },
  },
  { work: 'index-postgres', ...OWN, moments: ['before', 'idle'], backends: ['postgres'], use: post },
];

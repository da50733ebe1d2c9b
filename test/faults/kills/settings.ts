import { readIdIn } from '../../support/feed-client.ts';
import { ask, type Reply } from '../../support/service.ts';
import { Promised } from './promised.ts';
import { answered, Broken, feedOf, type Load, same, type WriteKind } from './write-kind.ts';

const CLIENTS = 2;

/** What a feed is set to. */
interface State {
  readonly title: string;
  readonly description: string;
  readonly readId: string;
  /** Empty for none. */
  readonly password: string;
}

interface SetFeed {
  readonly name: string;
  readonly promised: Promised<State>;
}

/** Sets titles, read ids and passwords of feeds, with and without `If-Match`. */
export function settings(load: Load): WriteKind {
  /** Of each client, the last one is changed: a feed without a password cannot get one again. */
  const feeds: SetFeed[][] = Array.from({ length: CLIENTS }, () => []);
  /** Read ids that feeds had. */
  const left: string[] = [];
  let count = 0;
  const feedWith = (name: string, password: string) =>
    feedOf(load, name, password === '' ? {} : { 'x-feed-password': password });

  const make = async (client: number) => {
    const name = `set-${client}-${feeds[client]!.length}`;
    const password = `first of ${name}`;
    const { json } = answered(await feedWith(name, password).post('a text'), 201);
    const state = { title: '', description: '', readId: readIdIn(json.read_url), password };
    feeds[client]!.push({ name, promised: new Promised<State>(state) });
  };

  const change = async ({ name, promised }: SetFeed, state: State) => {
    const seed = ++count;
    const feed = feedWith(name, state.password);
    const way = load.random.below(5);
    if (way === 0) {
      const values = { title: `title ${seed}`, description: `description ${seed}` };
      const readId = `${load.prefix}read-${seed}`;
      await promised.write({ ...state, ...values, readId }, 200, () =>
        feed.set({ ...values, read_id: readId }),
      );
      left.push(state.readId);
    } else if (way === 1) {
      const etag = answered(await feed.get(), 200).headers.get('etag')!;
      const title = `title ${seed}`;
      const send = () => feed.with({ 'if-match': etag }).send('PATCH', '', JSON.stringify({ title }));
      await promised.write({ ...state, title }, 200, send);
    } else if (way === 2) {
      answered(await feed.with({ 'if-match': '"of another version"' }).set({ title: 'refused' }), 412);
    } else if (way === 3) {
      await promised.write({ ...state, password: '' }, 204, () => feed.send('DELETE', '/password'));
    } else {
      const password = `password ${seed}`;
      const send = () => feed.send('PUT', '/password', JSON.stringify({ password }));
      await promised.write({ ...state, password }, 204, send);
    }
  };

  const check = async ({ name, promised }: SetFeed) => {
    const [{ json }, password] = await recordOf((tried) => feedWith(name, tried).get(), promised);
    const { title, description } = json;
    promised.settle({ title, description, readId: readIdIn(json.read_url), password }, 'a feed record');
    const read = answered(await ask(`${load.url}/api/v1/read/${promised.state!.readId}`), 200);
    same([read.json.title, read.json.description], [title, description], 'what readers see of a feed');
  };

  return {
    name: 'settings',
    clients: CLIENTS,
    write: async (client) => {
      const last = feeds[client]!.at(-1);
      if (!last || last.promised.state?.password === '') return make(client);
      if (!last.promised.state) throw new Error('nobody knows the password');
      await change(last, last.promised.state);
    },
    check: async () => {
      for (const one of feeds.flat()) await check(one);
      for (const readId of left) {
        const { json } = answered(await ask(`${load.url}/api/v1/read/${readId}/notes`), 200);
        same(json.notes, [], 'the notes of a read link that ended');
      }
    },
  };
}

/** The record, and the one of the passwords it may have that lets in. */
async function recordOf(
  get: (password: string) => Promise<Reply>,
  { states }: Promised<State>,
): Promise<[Reply, string]> {
  for (const password of new Set(states.map((state) => state.password))) {
    const reply = answered(await get(password), 200, 401);
    if (reply.status === 200) return [reply, reply.json.protected ? password : ''];
  }
  throw new Broken('no password that was set lets in');
}

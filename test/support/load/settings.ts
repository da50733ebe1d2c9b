import { readIdIn } from '../feed-client.ts';
import { ask, type Reply } from '../service.ts';
import { Promised } from './promised.ts';
import { answered, Broken, Idle, type Load, listed, look, same, type WriteKind } from './write-kind.ts';

const CLIENTS = 2;
const TEXT = 'a text';

/** The settings that a feed must have; null if it does not exist. */
type State = {
  readonly title: string;
  readonly description: string;
  readonly readId: string;
  /** Empty for none. */
  readonly password: string;
} | null;

interface SetFeed {
  readonly name: string;
  readonly promised: Promised<State>;
}

/** Sets titles, read ids and passwords of feeds, with and without `If-Match`. */
export function settings(load: Load): WriteKind {
  const { random } = load;
  /** Of each client, the last one is changed: a feed without a password cannot get one again. */
  const feeds: SetFeed[][] = Array.from({ length: CLIENTS }, () => []);
  /** Read ids that feeds had. */
  const left: string[] = [];
  const feedWith = (name: string, password: string) =>
    load.feed(name, password === '' ? {} : { 'x-feed-password': password });

  const make = async ({ name, promised }: SetFeed) => {
    const password = `first of ${name}`;
    const readId = `${load.prefix}read-${load.next()}`;
    const headers = { 'x-read-id': readId };
    const send = () => feedWith(name, password).post(TEXT, headers);
    const { json } = await promised.write({ title: '', description: '', readId, password }, 201, send);
    same(readIdIn(json.read_url), readId, 'the read id that was chosen');
  };

  const change = async ({ name, promised }: SetFeed, state: NonNullable<State>) => {
    const n = load.next();
    const feed = feedWith(name, state.password);
    const way = random.below(7);
    if (way < 2) {
      const values = { title: `title ${n}`, description: random.oneIn(3) ? '' : `description ${n}` };
      const readId = `${load.prefix}read-${n}`;
      const send = () => feed.set({ ...values, read_id: readId });
      await promised.write({ ...state, ...values, readId }, 200, send);
      left.push(state.readId);
    } else if (way < 4) {
      const etag = answered(await feed.get(), 200).headers.get('etag')!;
      const title = `title ${n}`;
      const send = () => feed.with({ 'if-match': etag }).send('PATCH', '', JSON.stringify({ title }));
      await promised.write({ ...state, title }, 200, send);
    } else if (way === 4) {
      answered(await feed.with({ 'if-match': '"of another version"' }).set({ title: 'refused' }), 412);
    } else if (way === 5) {
      await promised.write({ ...state, password: '' }, 204, () => feed.send('DELETE', '/password'));
    } else {
      const password = `password ${n}`;
      const send = () => feed.send('PUT', '/password', JSON.stringify({ password }));
      await promised.write({ ...state, password }, 204, send);
    }
  };

  const check = async ({ name, promised }: SetFeed) => {
    const reply = await recordOf((tried) => feedWith(name, tried).get(), promised);
    if (!reply) return promised.settle(null, name);
    const [{ json }, password] = reply;
    const { title, description } = json;
    promised.settle(
      { title, description, readId: readIdIn(json.read_url), password },
      `the record of ${name}`,
    );
    if (password !== '') await look(() => feedWith(name, '').get(), 401);
    const link = `${load.url}/api/v1/read/${promised.state!.readId}`;
    const read = (await look(() => ask(link))).json;
    same([read.title, read.description], [title, description], 'what readers see of a feed');
    const notes = await listed((query) => ask(`${link}/notes${query}`));
    same(
      notes.map(({ content }) => content),
      [TEXT],
      `the notes of ${name}`,
    );
  };

  return {
    name: 'settings',
    clients: CLIENTS,
    write: async (client) => {
      const own = feeds[client]!;
      const last = own.at(-1);
      const state = last?.promised.state;
      if (last && state === undefined) throw new Idle('nobody knows the password');
      if (last && state && state.password !== '') return change(last, state);
      if (last && state === null) return make(last);
      const next = { name: `set-${client}-${own.length}`, promised: new Promised<State>(load, null) };
      own.push(next);
      await make(next);
    },
    check: async () => {
      for (const one of feeds.flat()) await check(one);
      for (const readId of left) {
        const { json } = await look(() => ask(`${load.url}/api/v1/read/${readId}/notes`));
        same(json.notes, [], 'the notes of a read link that ended');
      }
    },
  };
}

/** The record, and the one of the passwords it may have that lets in; undefined if the feed is not there. */
async function recordOf(
  get: (password: string) => Promise<Reply>,
  { states }: Promised<State>,
): Promise<[Reply, string] | undefined> {
  for (const password of new Set(states.map((state) => state?.password ?? ''))) {
    const reply = await look(() => get(password), 200, 401, 404);
    if (reply.status === 404) return undefined;
    if (reply.status === 200) return [reply, reply.json.protected ? password : ''];
  }
  throw new Broken('no password that was set lets in');
}

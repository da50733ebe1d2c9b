import { type FeedClient, readIdIn } from '../feed-client.ts';
import { operate } from '../operator.ts';
import { picture } from '../pictures.ts';
import { ask, type Reply } from '../service.ts';
import { Promised } from './promised.ts';
import {
  answered,
  bytesAt,
  Idle,
  type Load,
  listed,
  look,
  same,
  sha256,
  type WriteKind,
} from './write-kind.ts';

const PICTURES = 'taken-pictures';
const [PICTURE_LENGTH, MARK_LENGTH] = [4_000, 20];

/** A feed, and what the operator has closed of it. */
interface Closable {
  /** Of its notes, oldest first; null if it is not there. */
  readonly texts: readonly string[] | null;
  readonly isNameClosed: boolean;
  readonly isLinkClosed: boolean;
}

interface ClosableFeed {
  readonly name: string;
  readonly promised: Promised<Closable>;
  readonly ids: Map<string, string>;
  /** Known since an answer or a look has shown the feed. */
  readId: string | undefined;
}

interface Picture {
  readonly sha256: string;
  readonly bytes: Buffer<ArrayBuffer>;
  readonly promised: Promised<{ readonly isThere: boolean; readonly isClosed: boolean }>;
  url: string | undefined;
}

/** An operator who closes and opens names, and takes down notes, feeds and pictures, while the feeds get notes. */
export function takedowns(load: Load): WriteKind {
  const { random } = load;
  const feeds: ClosableFeed[] = [];
  const pictures: Picture[] = [];
  const order = (method: string, path: string, body?: unknown) => () => operate(load.url, method, path, body);

  const post = async (feed: ClosableFeed, state: Closable) => {
    const text = `text ${load.next()}`;
    const next = { ...state, texts: [...(state.texts ?? []), text] };
    const { json } = await feed.promised.write(next, 201, () => load.feed(feed.name).post(text));
    feed.ids.set(text, json.id);
    feed.readId = readIdIn(json.read_url);
  };
  const takeDown = async ({ promised, readId }: ClosableFeed, state: Closable, count: number) => {
    const named = { ...state, isNameClosed: true };
    const linked = { ...named, isLinkClosed: true };
    // It closes first, so that the same call can finish the removal.
    const steps = [named, linked].reduce<() => Promise<Reply>>(
      (send, step) => () => promised.write(step, 200, send),
      order('POST', '/takedown', { read_id: readId, block: true }),
    );
    const { json } = await promised.write({ ...linked, texts: null }, 200, steps);
    same(json, { removed: count }, 'what was taken down');
  };
  const changeFeed = async () => {
    const last = feeds.at(-1);
    const state = last?.promised.state;
    if (last && state === undefined) throw new Idle('the last feed is in doubt');
    const isOver = state?.isNameClosed && state.texts === null;
    if (!last || !state || isOver) {
      const promised = new Promised<Closable>(load, {
        texts: null,
        isNameClosed: false,
        isLinkClosed: false,
      });
      const made = { name: `taken-${feeds.length}`, promised, ids: new Map(), readId: undefined };
      feeds.push(made);
      return post(made, promised.state!);
    }
    const { promised, ids } = last;
    const name = `/blocks/${load.prefix}${last.name}`;
    const [text] = state.texts ?? [];
    const way = random.below(6);
    if (state.texts === null) await post(last, state);
    else if (state.isLinkClosed || way === 0) await takeDown(last, state, state.texts.length);
    else if (state.isNameClosed)
      await promised.write({ ...state, isNameClosed: false }, 204, order('DELETE', name));
    else if (way === 1) await promised.write({ ...state, isNameClosed: true }, 204, order('PUT', name));
    else if (way === 2 && text !== undefined && ids.has(text)) {
      const body = { read_id: last.readId, file: ids.get(text) };
      await promised.write({ ...state, texts: state.texts.slice(1) }, 200, order('POST', '/takedown', body));
    } else await post(last, state);
  };

  const changePicture = async () => {
    const last = pictures.at(-1);
    const state = last?.promised.state;
    if (last && state === undefined) throw new Idle('the last picture is in doubt');
    if (last && state?.isThere && last.url !== undefined) {
      const body = { target: last.url, block: true };
      const closed = () =>
        last.promised.write({ isThere: true, isClosed: true }, 200, order('POST', '/takedown', body));
      const { json } = await last.promised.write({ isThere: false, isClosed: true }, 200, closed);
      return same(json, { removed: 1 }, 'the pictures that were taken down');
    }
    const bytes = picture('png', PICTURE_LENGTH);
    // Bytes that were taken down stay blocked, so each picture has its own.
    bytes.write(`${load.prefix}${load.next()}`, PICTURE_LENGTH - MARK_LENGTH);
    const promised = new Promised(load, { isThere: false, isClosed: false });
    const made: Picture = { sha256: sha256(bytes), bytes, promised, url: undefined };
    pictures.push(made);
    const send = () => load.feed(PICTURES).post(bytes, { 'content-type': 'image/png' });
    const { json } = await promised.write({ isThere: true, isClosed: false }, 201, send);
    made.url = json.file_url;
  };

  const checkFeed = async (feed: ClosableFeed, closed: ReadonlySet<string>) => {
    const client = load.feed(feed.name);
    const record = await look(() => client.get(), 200, 404);
    if (record.status === 200) feed.readId ??= readIdIn(record.json.read_url);
    const texts = record.status === 404 ? null : await textsOf((query) => client.list(query));
    const isNameClosed = closed.has(`name ${load.prefix}${feed.name}`);
    const isLinkClosed = closed.has(`link ${feed.readId}`);
    feed.promised.settle({ texts, isNameClosed, isLinkClosed }, `the feed ${feed.name}`);
    if (isNameClosed) await refused(client, 403);
    const link = `${load.url}/api/v1/read/${feed.readId}/notes`;
    if (isLinkClosed) await look(() => ask(link), 410);
    else if (feed.readId !== undefined)
      same(
        await textsOf((query) => ask(link + query)),
        isNameClosed ? [] : (texts ?? []),
        `what readers see of ${feed.name}`,
      );
  };

  return {
    name: 'takedowns',
    clients: 2,
    write: async (client) => {
      await (client === 0 ? changeFeed() : changePicture());
    },
    check: async () => {
      const closed = await closedAt(load.url);
      for (const feed of feeds) await checkFeed(feed, closed);
      const { status } = await look(() => load.feed(PICTURES).get(), 200, 404);
      const notes = status === 404 ? [] : await listed((query) => load.feed(PICTURES).list(query));
      const hashes = new Map<string, string>();
      for (const { file_url } of notes) hashes.set(sha256(await bytesAt(file_url)), file_url!);
      for (const one of pictures) {
        one.url ??= hashes.get(one.sha256);
        const isClosed = closed.has(`picture ${one.sha256}`);
        one.promised.settle({ isThere: hashes.delete(one.sha256), isClosed }, 'a picture');
        if (isClosed) await refused(load.stranger('closed-pictures'), 451, one.bytes);
      }
      same([...hashes.values()], [], 'the pictures that nobody has posted');
      await look(() => load.stranger('closed-pictures').get(), 404);
    },
  };
}

async function refused(feed: FeedClient, status: number, picture?: Buffer<ArrayBuffer>): Promise<void> {
  const reply = picture ? await feed.post(picture, { 'content-type': 'image/png' }) : await feed.post();
  same(answered(reply, status).json.code, 'blocked', 'why it is refused');
}

async function textsOf(list: (query: string) => Promise<Reply>): Promise<(string | undefined)[]> {
  return (await listed(list)).map(({ content }) => content).reverse();
}

/** All blocks, as `<kind> <key>`. */
async function closedAt(url: string): Promise<Set<string>> {
  const closed = new Set<string>();
  for (let after = ''; ; ) {
    const { json } = await look(() => operate(url, 'GET', `/blocks?limit=1000${after}`));
    for (const { kind, key } of json.blocks) closed.add(`${kind} ${key}`);
    if (json.next === null) return closed;
    after = `&after=${encodeURIComponent(json.next)}`;
  }
}

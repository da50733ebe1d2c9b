import type { FeedClient } from '../../support/feed-client.ts';
import { field, png } from '../../support/multipart.ts';
import { picture } from '../../support/pictures.ts';
import type { Reply } from '../../support/service.ts';
import { answered, Broken, bytesAt, feedOf, type Load, listed, same, type WriteKind } from './write-kind.ts';

const FEED = 'keyed';

/** A write under a key, which is sent until it is answered. */
interface Keyed {
  readonly key: string;
  readonly way: 'post' | 'form' | 'put';
  /** Counts what was put under the key. */
  readonly version: number;
  readonly picture: Buffer<ArrayBuffer>;
}

/** Posts and puts with keys, each repeated until it is answered, by any service. */
export function keyed(load: Load): WriteKind {
  /** Writes whose answer did not come. */
  const open: Keyed[] = [];
  /** The last write of each key that was answered, with the id of its note. */
  const done = new Map<string, { readonly write: Keyed; readonly id: string }>();
  let count = 0;

  const next = (): Keyed => {
    count += 1;
    const way = load.random.oneOf(['post', 'form', 'put'] as const);
    return { key: `key ${count}`, way, version: 0, picture: picture('png', 5_000, count) };
  };
  const checkNote = async (write: Keyed, { content }: { content: string }) => {
    if (write.way !== 'form') return content === textOf(write);
    const [, url] = /^form key \d+ !\[\]\(<(.+)>\)$/.exec(content) ?? [];
    const notes = await feedOf(load, FEED).get(`/notes/${url?.split('.')[0]}`);
    return write.picture.equals(await bytesAt(answered(notes, 200).json.file_url));
  };

  return {
    name: 'keyed posts',
    clients: 3,
    write: async () => {
      const write = open.shift() ?? next();
      let reply: Reply;
      try {
        // After a 503, too, nobody knows.
        reply = answered(await send(feedOf(load, FEED), write), 200, 201);
      } catch (error) {
        open.push(write);
        throw error;
      }
      const { id } = reply.json;
      const before = done.get(write.key);
      same(id, before?.id ?? id, `the note of ${write.key}`);
      done.set(write.key, { write, id });
      if (write.way === 'put' && load.random.below(3) > 0)
        open.push({ ...write, version: write.version + 1 });
    },
    check: async () => {
      const notes = await listed(feedOf(load, FEED));
      const byKey = Map.groupBy(
        notes.filter(({ content }) => content !== undefined),
        ({ key }) => key,
      );
      for (const [key, { id }] of done)
        same(
          byKey.get(key)?.map((note) => note.id),
          [id],
          key,
        );
      const allowed = Map.groupBy(
        [...[...done.values()].map(({ write }) => write), ...open],
        ({ key }) => key,
      );
      for (const [key, found] of byKey) {
        if (found.length > 1) throw new Broken(`${key} has ${found.length} notes`);
        const are = await Promise.all((allowed.get(key) ?? []).map((write) => checkNote(write, found[0])));
        if (!are.includes(true)) throw new Broken(`${key} has ${found[0].content}`);
      }
      const forms = [...byKey.values()].filter(([note]) => note.content.startsWith('form'));
      same(notes.length, byKey.size + forms.length, 'the number of keyed notes and their pictures');
    },
  };
}

function textOf({ key, version }: Keyed): string {
  return `text of ${key}, ${version}`;
}

function send(feed: FeedClient, write: Keyed): Promise<Reply> {
  const headers = { 'idempotency-key': write.key };
  if (write.way === 'post') return feed.post(textOf(write), headers);
  if (write.way === 'put')
    return feed
      .with({ 'content-type': 'text/markdown' })
      .put(`/notes?key=${encodeURIComponent(write.key)}`, textOf(write));
  return feed.postForm(
    [field('text', `form ${write.key} ![](<a.png>)`), png('a.png', write.picture)],
    headers,
  );
}

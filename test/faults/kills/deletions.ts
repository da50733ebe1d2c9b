import { readIdIn } from '../../support/feed-client.ts';
import { field, png } from '../../support/multipart.ts';
import { picture } from '../../support/pictures.ts';
import { ask } from '../../support/service.ts';
import { Promised } from './promised.ts';
import { answered, Broken, feedOf, type Load, listed, same, type WriteKind } from './write-kind.ts';

const CLIENTS = 2;

/** A feed that a form makes: a text with two pictures. */
interface Made {
  readonly generation: number;
  readonly readId: string;
  /** Of its notes, each there or gone. */
  readonly notes: ReadonlyMap<string, Promised<boolean>>;
  readonly isThere: Promised<boolean>;
}

/** Deletes notes and whole feeds, and makes feeds of the same names again. */
export function deletions(load: Load): WriteKind {
  const feeds: (Made | undefined)[] = Array.from({ length: CLIENTS });
  const gone: Made[] = [];
  let count = 0;
  /** Of each client, a feed that it began to make. */
  const begun: (number | undefined)[] = Array.from({ length: CLIENTS });
  const nameOf = (client: number) => `deleted-${client}`;

  const make = async (client: number) => {
    const generation = begun[client] ?? ++count;
    begun[client] = generation;
    const bytes = picture('png', 6_000, generation);
    const parts = [
      field('text', `made ${generation} ![](<a.png>) ![](<b.png>)`),
      png('a.png', bytes),
      png('b.png', bytes),
    ];
    // The key is for a form without an answer, which may have made it.
    const headers = { 'idempotency-key': `made ${generation}`, 'x-note-tags': `g${generation}` };
    const { json } = answered(await feedOf(load, nameOf(client)).postForm(parts, headers), 201);
    const ids: string[] = [json.id, ...json.attachments.map(({ id }: { id: string }) => id)];
    begun[client] = undefined;
    feeds[client] = {
      generation,
      readId: readIdIn(json.read_url),
      notes: new Map(ids.map((id) => [id, new Promised(true)])),
      isThere: new Promised(true),
    };
  };

  return {
    name: 'deletions',
    clients: CLIENTS,
    write: async (client) => {
      const made = feeds[client];
      if (!made) return make(client);
      if (made.isThere.state === undefined) throw new Error('nobody knows whether the feed is there');
      const feed = feedOf(load, nameOf(client));
      const note = [...made.notes].find(([, promised]) => promised.state === true);
      if (note && load.random.below(2) > 0) {
        await note[1].write(false, 204, () => feed.send('DELETE', `/notes/${note[0]}`));
        return;
      }
      await made.isThere.write(false, 204, () => feed.delete());
      gone.push(made);
      feeds[client] = undefined;
    },
    check: async () => {
      for (const [client, made] of feeds.entries()) {
        const feed = feedOf(load, nameOf(client));
        const [record, notes] = [answered(await feed.get(), 200, 404), await listed(feed)];
        if (!made) {
          const { length } = notes.filter(({ tags }) => String(tags) === `g${begun[client]}`);
          same([notes.length, [0, 3].includes(length)], [length, true], 'a feed that may have been made');
          continue;
        }
        made.isThere.settle(record.status === 200, 'a feed');
        if (!made.isThere.state) {
          same(notes, [], 'the notes of a feed that is deleted');
          gone.push(made);
          feeds[client] = undefined;
          continue;
        }
        const found = new Set(notes.map(({ id }) => id));
        for (const [id, promised] of made.notes) promised.settle(found.delete(id), 'whether a note is there');
        if (found.size > 0) throw new Broken('notes of a deleted feed are in the next one of its name');
      }
      for (const { readId, notes } of gone) {
        const read = answered(await ask(`${load.url}/api/v1/read/${readId}/notes`), 200);
        same(read.json.notes, [], 'the notes of a deleted feed');
        for (const id of notes.keys())
          answered(await ask(`${load.url}/api/v1/read/${readId}/notes/${id}`), 404);
      }
    },
  };
}

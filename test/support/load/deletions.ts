import { ask } from '../service.ts';
import { formOf, slotOf } from './drafts.ts';
import { FeedNotes, type Made } from './feed-notes.ts';
import { Promised } from './promised.ts';
import { answered, Idle, type Load, look, same, type WriteKind } from './write-kind.ts';

const CLIENTS = 2;

/** A feed that a form makes. */
interface Generation {
  readonly notes: FeedNotes;
  readonly made: Made;
  /** That its maker has chosen. */
  readonly chosenId: string | undefined;
  readonly isThere: Promised<boolean>;
  /** Of all notes that it had. */
  readonly ids: Set<string>;
}

/** Deletes notes and whole feeds, and makes feeds of the same names again. */
export function deletions(load: Load): WriteKind {
  const { random } = load;
  const feeds: (Generation | undefined)[] = Array.from({ length: CLIENTS });
  const gone: Generation[] = [];

  const make = async (client: number) => {
    const notes = new FeedNotes(load, `deleted-${client}`);
    const draft = formOf(load);
    const chosenId = random.oneIn(2) ? `${load.prefix}chosen-${load.next()}` : undefined;
    const made = notes.begin(draft);
    const generation = { notes, made, chosenId, isThere: new Promised(load, false), ids: new Set<string>() };
    feeds[client] = generation;
    const headers = { ...draft.headers, ...(chosenId !== undefined && { 'x-read-id': chosenId }) };
    const post = () => notes.client.post(draft.body, headers);
    const reply = await generation.isThere.write(true, 201, () => made.notes.write(draft.notes, 201, post));
    notes.learn(made, reply);
    for (const id of made.ids.values()) generation.ids.add(id);
  };
  const bury = (client: number, generation: Generation) => {
    // Nobody knows the read id of a feed that was made and deleted without an answer.
    if (generation.notes.readId !== undefined) gone.push(generation);
    feeds[client] = undefined;
  };

  return {
    name: 'deletions',
    clients: CLIENTS,
    write: async (client) => {
      const generation = feeds[client];
      if (!generation) return make(client);
      const { notes, made, isThere } = generation;
      const all = made.notes.state;
      if (isThere.state === undefined || !all) throw new Idle('nobody knows what is there');
      const feed = notes.client;
      const note = random.oneOf(all);
      if (note && random.below(3) > 0) {
        const path = `/notes/${made.ids.get(slotOf(note))}`;
        const others = all.filter((one) => one !== note);
        if (random.oneIn(4))
          answered(await feed.with({ 'if-match': '"of another version"' }).send('DELETE', path), 412);
        else await made.notes.write(others, 204, () => feed.send('DELETE', path));
        return;
      }
      await isThere.write(false, 204, () => feed.delete());
      bury(client, generation);
    },
    check: async () => {
      for (const [client, generation] of feeds.entries()) {
        if (!generation) {
          await look(() => load.feed(`deleted-${client}`).get(), 404);
          continue;
        }
        const { notes, made, isThere, ids } = generation;
        isThere.settle(
          (await look(() => notes.client.get(), 200, 404)).status === 200,
          'whether a feed is there',
        );
        if (isThere.state) {
          await notes.check();
          for (const id of made.ids.values()) ids.add(id);
        } else bury(client, generation);
      }
      for (const { notes, ids } of gone) {
        const link = `${load.url}/api/v1/read/${notes.readId}/notes`;
        same((await look(() => ask(link))).json, { notes: [], next: null }, 'the notes of a deleted feed');
        for (const id of ids) await look(() => ask(`${link}/${id}`), 404);
      }
      const chosenId = gone.findLast((one) => one.chosenId !== undefined)?.chosenId;
      if (chosenId === undefined) return;
      // Nobody gets the read id of a deleted feed.
      await look(() => load.stranger('heir').post('x', { 'x-read-id': chosenId }), 409);
    },
  };
}

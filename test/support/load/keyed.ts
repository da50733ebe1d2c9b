import type { Reply } from '../service.ts';
import { type Draft, draftOf, formOf, rewritten } from './drafts.ts';
import { FeedNotes, type Made } from './feed-notes.ts';
import { answered, type Load, look, same, type WriteKind } from './write-kind.ts';

const CLIENTS = 3;
const WAYS = ['post', 'form', 'put'] as const;

/** A write under a key, which is sent until it is answered. */
interface Keyed {
  readonly way: (typeof WAYS)[number];
  readonly key: string;
  readonly made: Made;
  /** What was sent last. */
  draft: Draft;
  /** Since the last look. */
  isSent: boolean;
}

/** Posts and puts with keys, each repeated until it is answered, by any service. */
export function keyed(load: Load): WriteKind {
  const { random } = load;
  const notes = new FeedNotes(load, 'keyed');
  const all: Keyed[][] = Array.from({ length: CLIENTS }, () => []);

  const begin = (own: Keyed[]): Keyed => {
    const key = `key ${load.next()}`;
    const way = random.oneOf(WAYS);
    const draft = way === 'form' ? formOf(load, { key }) : draftOf(load, { key });
    const one = { way, key, made: notes.begin(draft), draft, isSent: true };
    own.push(one);
    return one;
  };
  const send = ({ way, key, draft: { body, headers } }: Keyed): Promise<Reply> => {
    if (way !== 'put') return notes.client.post(body, headers);
    const { 'idempotency-key': _, ...others } = headers;
    return notes.client.with(others).put(`/notes?key=${encodeURIComponent(key)}`, body);
  };
  const write = async (one: Keyed) => {
    const { way, made } = one;
    one.isSent = true;
    const isOpen = made.notes.state === undefined;
    const isReplaced = !isOpen && made.notes.state!.length > 0;
    const statuses = way === 'put' && isOpen ? [200, 201] : way === 'put' && isReplaced ? 200 : 201;
    const before = [...made.ids.values()];
    notes.learn(made, await made.notes.write(one.draft.notes, statuses, () => send(one)));
    if (before.length > 0) same([...made.ids.values()], before, `the notes of ${one.key}`);
  };
  const change = (one: Keyed) => {
    const { note, bytes } = rewritten(load, one.made.mark, one.draft.notes[0]!);
    one.draft = { ...one.draft, notes: [note], body: bytes };
  };

  return {
    name: 'keyed posts',
    clients: CLIENTS,
    write: async (client) => {
      const own = all[client]!;
      const open = own.find(({ made }) => !made.notes.state?.length);
      if (open) return write(open);
      const done = random.oneOf(own);
      if (done && random.oneIn(10)) {
        answered(await notes.client.post('refused', { 'idempotency-key': done.key }), 422);
        return;
      }
      if (done?.way !== 'put' || random.oneIn(3)) return write(begin(own));
      change(done);
      await write(done);
    },
    check: async () => {
      await notes.check();
      // A client that had no answer asks again, and so does one whose answer was lost on its way.
      for (const one of all.flat().filter(({ isSent, way }) => isSent && way !== 'put')) {
        one.isSent = false;
        const { made, key } = one;
        if (made.notes.state!.length === 0) continue;
        const before = [...made.ids];
        const reply = await look(() => send(one), 201);
        same(reply.headers.get('idempotent-replayed'), 'true', `the answer to ${key} again`);
        notes.learn(made, reply);
        same([...made.ids], before, `the notes of ${key}`);
      }
    },
  };
}

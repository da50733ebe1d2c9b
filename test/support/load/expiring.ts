import { setTimeout as delay } from 'node:timers/promises';
import { draftOf, formOf, slotOf } from './drafts.ts';
import { FeedNotes, type Made } from './feed-notes.ts';
import { Promised } from './promised.ts';
import { answered, Idle, type Load, listed, look, same, type WriteKind } from './write-kind.ts';

/** What is counted there depends on the moment. */
export const EXPIRING = 'expiring';
const KEEPING = 'keeping';
/** How many notes a feed keeps. */
const KEEP = 4;
const SOON_MS = 1_000;
const LATE_MS = 3_600_000;

/** Posts notes that expire soon, or late, and notes to a feed that keeps few. Each start sweeps what is due. */
export function expiring(load: Load): WriteKind {
  const { random } = load;
  const notes = new FeedNotes(load, EXPIRING);
  const late: Made[] = [];
  /** When notes expire, by their ids. */
  const ends = new Map<string, number>();
  /** Whether each note of the feed that keeps few was stored, by its number. */
  const stored: Promised<boolean>[] = [];
  let keeps = false;
  let seen: readonly number[] = [];

  const postExpiring = async () => {
    const isLate = random.oneIn(3);
    const end = Date.now() + (isLate ? LATE_MS : random.below(SOON_MS));
    const given = { expires: new Date(end).toISOString() };
    const draft = random.oneIn(3) ? formOf(load, given) : draftOf(load, given);
    const made = notes.begin(draft);
    const send = () => notes.client.post(draft.body, draft.headers);
    // It may have expired on the way.
    const reply = await made.notes.write(draft.notes, isLate ? 201 : [201, 400], send);
    if (reply.status === 400) return;
    notes.learn(made, reply);
    if (isLate) late.push(made);
    else for (const id of made.ids.values()) ends.set(id, end);
  };
  /** A late note comes to stay. */
  const keepOne = async () => {
    const made = random.oneOf(late);
    if (!made?.notes.state) throw new Idle('no note is certain');
    const note = random.oneOf(made.notes.state);
    const { expires_at: _, ...lasting } = note;
    const others = made.notes.state.map((one) => (one === note ? lasting : one));
    const path = `/notes/${made.ids.get(slotOf(note))}`;
    await made.notes.write(others, 200, () => notes.client.send('PATCH', path, '{"expires":""}'));
  };
  const postKept = async () => {
    const feed = load.feed(KEEPING);
    const promised = new Promised(load, false);
    stored.push(promised);
    await promised.write(true, 201, () => feed.post(`${stored.length - 1}`));
    if (!keeps) answered(await feed.set({ keep: { notes: KEEP } }), 200);
    keeps = true;
  };

  return {
    name: 'expiring and kept notes',
    clients: 2,
    write: (client) =>
      client === 1 ? postKept() : late.length > 0 && random.oneIn(4) ? keepOne() : postExpiring(),
    check: async () => {
      await notes.check();
      await delay(Math.max(0, ...ends.values()) - Date.now());
      await notes.check();
      for (const id of ends.keys()) await look(() => notes.client.get(`/notes/${id}`), 404);

      const kept = await listed((query) => load.feed(KEEPING).list(query));
      const numbers = kept.map(({ content }) => Number(content));
      const found = new Set(numbers);
      // One that was swept meanwhile was stored.
      const newest = Math.max(-1, ...numbers);
      for (const [n, promised] of stored.entries())
        if (promised.state === undefined) promised.settle(found.has(n), `note ${n}`);
      const whole = [...stored.keys()].filter((n) => stored[n]!.state).toReversed();
      same(numbers.slice(0, KEEP), whole.slice(0, KEEP), `the newest notes of a feed that keeps ${KEEP}`);
      same(
        numbers,
        whole.filter((n) => found.has(n)),
        'the notes of a feed that keeps few',
      );
      same(
        numbers.filter((n) => n <= (seen[0] ?? -1) && !seen.includes(n)),
        [],
        'the notes that came back',
      );
      seen = numbers;
      same(newest, whole[0] ?? -1, 'the newest note');
    },
  };
}

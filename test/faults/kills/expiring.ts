import { setTimeout as delay } from 'node:timers/promises';
import { Promised } from './promised.ts';
import { answered, feedOf, type Load, listed, same, type WriteKind } from './write-kind.ts';

const EXPIRING = 'expiring';
const KEEPING = 'keeping';
/** How many notes a feed keeps. */
const KEEP = 4;
const SOON_MS = 1_000;

/** Posts notes that expire soon, or late, and notes to a feed that keeps few. Each start sweeps what is due. */
export function expiring(load: Load): WriteKind {
  const byId = new Map<string, { readonly isLate: boolean; readonly expires: number }>();
  /** Whether each note of the feed that keeps few was stored, by its number. */
  const stored: Promised<boolean>[] = [];
  let keeps = false;
  let seen: readonly number[] = [];

  const postExpiring = async () => {
    const isLate = load.random.below(3) === 0;
    const expires = Date.now() + (isLate ? 3_600_000 : SOON_MS);
    const headers = { 'x-note-expires': new Date(expires).toISOString() };
    const reply = await feedOf(load, EXPIRING).post('it expires', headers);
    // It may have expired on the way.
    const { status, json } = answered(reply, 201, isLate ? 201 : 400);
    if (status === 201) byId.set(json.id, { isLate, expires });
  };
  const postKept = async () => {
    const feed = feedOf(load, KEEPING);
    const promised = new Promised(false);
    stored.push(promised);
    await promised.write(true, 201, () => feed.post(`${stored.length - 1}`));
    if (!keeps) answered(await feed.set({ keep: { notes: KEEP } }), 200);
    keeps = true;
  };

  return {
    name: 'expiring and kept notes',
    clients: 2,
    write: (client) => (client === 0 ? postExpiring() : postKept()),
    check: async () => {
      await delay(
        Math.max(0, ...[...byId.values()].map(({ isLate, expires }) => (isLate ? 0 : expires - Date.now()))),
      );
      const there = new Set((await listed(feedOf(load, EXPIRING))).map(({ id }) => id));
      for (const [id, { isLate }] of byId) {
        same(there.has(id), isLate, `whether the ${isLate ? 'lasting' : 'expired'} note ${id} is listed`);
        answered(await feedOf(load, EXPIRING).get(`/notes/${id}`), isLate ? 200 : 404);
      }

      const numbers = (await listed(feedOf(load, KEEPING))).map(({ content }) => Number(content));
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

import type { Storage } from '../../src/storage/storage.ts';
import { begin, end, Violation } from './known.ts';
import type { Scene } from './scene.ts';

/** Longer than a world lives. */
const SERIES_MS = 3_600_000_000;

/** Closes a link or a picture, or opens it again, as an operator does. */
export async function changeRecord(scene: Scene, storage: Storage): Promise<void> {
  const { random, moments, records, now, computer } = scene;
  const record = random.oneOf(records);
  if (record.pending) return;
  const { kind, key, sure } = record;
  const value = random.chance(0.5) || undefined;
  const change = begin(moments, `a change of ${record.title}`, [{ known: record, value }]);
  const of = storage.records;
  try {
    const isChanged = await scene.alive(
      value ? of.add({ kind, key, value: 'a reason', at: now }) : of.remove(kind, key),
    );
    if (isChanged !== (value !== sure)) throw new Violation(`${change.title} has found it otherwise`);
    end(moments, change, true);
  } catch (error) {
    if (computer.canTakeBack) end(moments, change, false);
    else change.isRefused = true;
    throw error;
  }
}

/** Uses the next token of a series, or, as a thief does, the one before. */
export async function useToken(scene: Scene, storage: Storage): Promise<void> {
  const { random, series, now } = scene;
  if (series.length === 0 || random.chance(0.1))
    series.push({ name: `series-${scene.number()}`, turn: 0, isUnsure: false, user: undefined });
  const one = random.oneOf(series.slice(-3));
  if (one.user === storage) return;
  // The process has died while somebody used it.
  one.isUnsure ||= one.user !== undefined;
  one.user = storage;
  const place = Math.max(0, one.turn - Number(random.chance(0.1)));
  const isUsed = await scene.alive(storage.useToken(one.name, place, now + SERIES_MS)).catch((error) => {
    one.isUnsure = true;
    one.user = undefined;
    throw error;
  });
  one.user = undefined;
  if (isUsed && place < one.turn) throw new Violation(`a token of ${one.name} was used twice`);
  if (!isUsed && place === one.turn && !one.isUnsure)
    throw new Violation(`the next token of ${one.name} was not to be used`);
  if (isUsed) Object.assign(one, { turn: place + 1, isUnsure: false });
  // It has ended.
  else series.splice(series.indexOf(one), 1);
}

import { dateOfId } from '../feeds/ids.ts';
import type { NoteId } from '../feeds/names.ts';
import type { Effects } from '../writing/decide.ts';

/** A note's place in the order in which the notes of its feed came, which is not that of their dates: a note is dated before it is stored. */
export interface Arrival {
  /** Grows with each arrival; its unit is the storage's own. */
  readonly at: number;
  /** Orders notes that came together. */
  readonly id: NoteId;
  /** The date of the note, or of its arrival if that is earlier, ms since the epoch. */
  readonly date: number;
  /** The note is gone, so only its date is known: notes with a later date came after it, and others may have, too. */
  readonly isGuess?: boolean | undefined;
}

/** Notes that came after a place, in the order in which they came. */
export interface Arrivals {
  readonly notes: readonly Arrival[];
  /** False if notes came, or may have come, that are missing here; they came before these. */
  readonly isComplete: boolean;
}

/** Before every note. */
export const BEFORE_ALL: Arrival = {
  at: Number.MIN_SAFE_INTEGER,
  id: '' as NoteId,
  date: Number.MIN_SAFE_INTEGER,
};

/** The place of a note that is gone, by the date in its id; undefined if there is none. */
export function guessedPlace(id: NoteId): Arrival | undefined {
  const date = dateOfId(id);
  return date === undefined ? undefined : { ...BEFORE_ALL, id, date, isGuess: true };
}

/** The most by which the date of a note may precede its arrival, ms. Older notes were imported or placed by hand, and are left out. */
export const MAX_LAG_MS = 10 * 60_000;
/** The most notes that are examined to find what came after a place. */
const MAX_EXAMINED = 10_000;
/** The most notes that are examined to find the last ones. */
const MAX_EXAMINED_FOR_LAST = 200;

/** The date from which on notes may have come after a place. A place dated ahead, because the clock was set back, counts as dated now. */
export function firstDateAfter(place: Arrival): number {
  return Math.max(BEFORE_ALL.date, Math.min(place.date, Date.now()) - MAX_LAG_MS);
}

/** How many of the newest notes, by their dates, are examined for an answer. */
export function maxExamined(since: unknown): number {
  return since === undefined ? MAX_EXAMINED_FOR_LAST : MAX_EXAMINED;
}

export function inOrderOfArrival(a: Pick<Arrival, 'at' | 'id'>, b: Pick<Arrival, 'at' | 'id'>): number {
  if (a.at !== b.at) return a.at - b.at;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

/**
 * The last of the notes that were found after a place, at most `limit`.
 * @param isLive whether a note is still there, which is asked only of as many as are needed
 */
export function lastArrivals(
  found: readonly Arrival[],
  place: Arrival,
  limit: number,
  isLive: (one: Arrival) => boolean = () => true,
): Arrivals {
  const { isGuess } = place;
  const later = isGuess ? found.filter((one) => isDatedAfter(one, place)) : found;
  const sorted = later.toSorted(inOrderOfArrival);
  // Several files can have one base name, and so one id.
  const notes = sorted.filter(({ id }, n) => id !== sorted[n - 1]?.id);
  const last: Arrival[] = [];
  for (let n = notes.length - 1; n >= 0 && last.length <= limit; n -= 1)
    if (isLive(notes[n]!)) last.push(notes[n]!);
  return { notes: last.reverse().slice(-limit), isComplete: !isGuess && last.length <= limit };
}

function isDatedAfter(one: Arrival, { date, id }: Arrival): boolean {
  return one.date === date ? one.id > id : one.date > date;
}

/** What a change did to notes that were there. */
export interface ChangedNotes {
  readonly edited?: readonly NoteId[] | undefined;
  readonly removed?: readonly NoteId[] | undefined;
  /**
   * The change did more than `edited` and `removed` name, or added notes that `Storage.arrivals` leaves out. Listeners have to
   * load all notes again.
   */
  readonly isUnnamed?: boolean | undefined;
}

/** The notes that a write edits and removes. */
export function changedNotes({ fate, edit, removed = [], outcomes }: Effects): ChangedNotes {
  const edited = edit?.after ? [edit.after.id] : [];
  const gone = edit && !edit.after ? [edit.before, ...removed] : removed;
  const ids = gone.map(({ id }) => id);
  return withoutEmpty({ edited, removed: ids, isUnnamed: outcomes !== undefined && fate !== 'unchanged' });
}

/** Whether a write changes more than that notes are added. */
export function touchesNotes(effects: Effects): boolean {
  return Object.keys(changedNotes(effects)).length > 0;
}

/** Drops empty lists, and a flag that is not set. */
export function withoutEmpty({ edited = [], removed = [], isUnnamed }: ChangedNotes): ChangedNotes {
  return {
    ...(edited.length > 0 && { edited }),
    ...(removed.length > 0 && { removed }),
    ...(isUnnamed && { isUnnamed }),
  };
}

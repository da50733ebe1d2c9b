import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ReadId } from '../feeds/names.ts';
import type { Note } from '../feeds/note.ts';
import { findMatch, MAX_SEARCHED_BYTES, type Match } from '../search/match.ts';
import { queryKey, type SearchQuery } from '../search/query.ts';
import { KeyedLimit } from '../worker-pool.ts';
import { noteEtag } from '../writing/etags.ts';
import { CpuLimit } from './cpu-limit.ts';
import { type Lane, NO_LIMIT, REMEMBERED_SLOW, type RenderingPools, runLane, runTask } from './lanes.ts';
import { areQuick, ON_LOOP_MS } from './render-on-loop.ts';
import { type NoteToSearch, READING_MS, searchedNote, searchedWithText } from './searched-note.ts';
import { ownBytes } from './views/compose.ts';

/** Notes to judge on a thread. */
export interface NotesToJudge {
  readonly query: SearchQuery;
  readonly notes: readonly NoteToSearch[];
  /** Limit of rendering each text, in ms of CPU, and after which no other note is judged. */
  readonly ms: number;
  /** Whether texts are judged by their markdown. */
  readonly isAsWritten: boolean;
}

/** Where a query finds a note, if it does. */
export interface Judgement {
  readonly match: Match | undefined;
}

/** A judgement of a thread. */
export interface ThreadJudgement extends Judgement {
  /** Of a text that was rendered: as people read it. */
  readonly text?: string;
}

type SearchLane = Lane<'parsing' | 'slowParsing'> & Pick<NotesToJudge, 'isAsWritten'>;

/** The lanes use the threads of the renderer. Unlike there, a text that is too slow in the second lane is judged as written. */
const LANES: readonly SearchLane[] = [
  { pool: 'parsing', ms: 10, maxLength: 8 * 1024, maxTexts: 50, maxSlow: NO_LIMIT, isAsWritten: false },
  { pool: 'slowParsing', ms: READING_MS, maxLength: NO_LIMIT, maxTexts: 1, maxSlow: 4, isAsWritten: false },
  { pool: 'slowParsing', ms: 2_000, maxLength: NO_LIMIT, maxTexts: 1, maxSlow: NO_LIMIT, isAsWritten: true },
];
const AS_WRITTEN = LANES.length - 1;
/** Texts, titles and alternative texts with at most so many characters together, counted for each word of the query, are judged on the event loop: 1 ms. */
const MAX_ON_LOOP = 16 * 1024;
/** Size of the judgements that are kept, and of the texts, in bytes. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** About what an entry takes besides its texts, bytes. */
const ENTRY_BYTES = 200;

const NOT_FOUND: Judgement = { match: undefined };

/** A note to judge. */
interface Asked {
  readonly note: Note;
  /** The version of the note, which changes with each change of it. */
  readonly etag: string;
  judgement: Judgement | undefined;
  /** Where it is judged next; set once it was too slow in the lane before. */
  lane?: number;
}

/** Judges each note once by a query: short ones on the event loop, others on threads. */
export class Matches {
  readonly #pools: Pick<RenderingPools, SearchLane['pool']>;
  /** By query and note. */
  readonly #judgements = new LRUCache<string, Judgement>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ match }, key) =>
      ENTRY_BYTES + key.length + (match ? 2 * match.text.length + 100 * match.marks.length : 0),
  });
  /** What people read, by note: other queries need not render it again. */
  readonly #texts = new LRUCache<string, string>({
    maxSize: KEPT_BYTES,
    sizeCalculation: (text, key) => ENTRY_BYTES + key.length + 2 * text.length,
  });
  /** The lane of texts that were too slow in another, by note. */
  readonly #lanes = new LRUCache<string, number>({ max: REMEMBERED_SLOW });
  readonly #turns = LANES.map(() => new KeyedLimit(1));

  constructor(pools: Pick<RenderingPools, SearchLane['pool']>) {
    this.#pools = pools;
  }

  /**
   * Where the query finds each of the notes as people read them; undefined for those that it does not find. A text that takes too long to
   * render is judged as written. What is known takes microseconds; tasks of a feed take turns with those of others.
   * @throws Refusal `busy` if too many tasks wait
   */
  async find(
    query: SearchQuery,
    notes: readonly Note[],
    readId: ReadId,
  ): Promise<readonly (Match | undefined)[]> {
    const key = hash('sha256', queryKey(query), 'base64url');
    const all = notes.map((note): Asked => {
      const etag = noteEtag(note, { readId });
      return { note, etag, judgement: this.#judgements.get(key + etag) };
    });
    const unknown = all.filter(isUnknown);
    this.#judgeByKnownTexts(query, unknown);
    const unread = unknown.filter(isUnknown);
    if (canJudgeAtOnce(query, unread)) judgeAtOnce(query, unread);
    else for (const lane of LANES.keys()) await this.#runLane(lane, query, unread, readId);
    for (const { etag, judgement } of unknown) this.#judgements.set(key + etag, judgement!);
    return all.map(({ judgement }) => judgement!.match);
  }

  /** As many of the notes as can be judged on the event loop. */
  #judgeByKnownTexts(query: SearchQuery, notes: readonly Asked[]): void {
    const words = wordsIn(query);
    let length = 0;
    for (const asked of notes) {
      const text = this.#texts.get(asked.etag);
      if (text === undefined) continue;
      length += words * (text.length + lengthOf({ ...asked.note, content: undefined }));
      if (length > MAX_ON_LOOP) return;
      asked.judgement = { match: findMatch(query, searchedWithText(asked.note, text)) };
    }
  }

  /** Judges those of the notes whose lane it is, in as many tasks as it takes. */
  #runLane(lane: number, query: SearchQuery, notes: readonly Asked[], readId: ReadId): Promise<void> {
    const left = () =>
      notes.filter((one) => isUnknown(one) && (lane === AS_WRITTEN || this.#laneOf(one) === lane));
    return runLane(LANES[lane]!, this.#turns[lane]!, readId, left, (some) =>
      this.#runTask(lane, query, some),
    );
  }

  #laneOf({ note, etag, lane }: Asked): number {
    return lane ?? this.#lanes.get(etag) ?? LANES.findIndex(({ maxLength }) => lengthOf(note) <= maxLength);
  }

  /** Judges as many of the notes as a task takes. Returns how many were too slow. */
  async #runTask(lane: number, query: SearchQuery, notes: readonly Asked[]): Promise<number> {
    const { pool, ms, isAsWritten } = LANES[lane]!;
    const task: NotesToJudge = { query, notes: notes.map(({ note }) => searchedPart(note)), ms, isAsWritten };
    const judged =
      (await runTask<(ThreadJudgement | undefined)[]>(this.#pools[pool], 'find-matches', task)) ??
      notes.map(() => undefined);
    let slow = 0;
    for (const [n, judgement] of judged.entries()) {
      const asked = notes[n]!;
      asked.judgement = lane === AS_WRITTEN ? (judgement ?? NOT_FOUND) : judgement;
      if (judgement?.text !== undefined) this.#texts.set(asked.etag, judgement.text);
      if (asked.judgement !== undefined) continue;
      slow += 1;
      asked.lane = lane + 1;
      this.#lanes.set(asked.etag, asked.lane);
    }
    return slow;
  }
}

function isUnknown({ judgement }: Asked): boolean {
  return judgement === undefined;
}

/** What of a note a thread needs, in buffers of its own. */
function searchedPart({ content, meta: { title, alt, name, tags } }: Note): NoteToSearch {
  const searched = content && ownBytes(content.subarray(0, MAX_SEARCHED_BYTES));
  return { content: searched, meta: { title, alt, name, tags } };
}

function lengthOf({ content, meta: { title = '', alt = '', name = '', tags } }: Note): number {
  return (content?.length ?? 0) + title.length + alt.length + name.length + tags.join().length;
}

/** How many words are looked for, each in the whole of a note. */
function wordsIn({ all, none }: SearchQuery): number {
  return [...all, ...none].reduce((sum, { words }) => sum + words.length, 0);
}

function canJudgeAtOnce(query: SearchQuery, notes: readonly Asked[]): boolean {
  let length = 0;
  for (const { note } of notes) length += wordsIn(query) * lengthOf(note);
  return length <= MAX_ON_LOOP && areQuick(notes.flatMap(({ note: { content } }) => content ?? []));
}

function judgeAtOnce(query: SearchQuery, notes: readonly Asked[]): void {
  const limit = new CpuLimit(ON_LOOP_MS);
  for (const asked of notes) asked.judgement = { match: findMatch(query, searchedNote(asked.note, limit)) };
}

import type { NoteId } from '../../feeds/names.ts';
import type { NoteMeta } from '../../feeds/note.ts';
import { metaOf } from '../rows.ts';
import type { Database } from './database.ts';
import { ALL_FEEDS, HAS_MARKS, MARK_FEED, SEARCH_VERSION, WORD_INDEX } from './search-schema.ts';
import { COMMIT_LATER, columnsOf, NOW, type Statement, statement, type Transaction } from './transaction.ts';

/** How long the lease of the process that makes words lasts after its last renewal, ms. */
const LEAD_MS = 3_000;
/** Longest lease, ms. Losing the lease within a batch doubles its time, because one note may take longer. */
const MAX_LEAD_MS = 60_000;
/** Limits of a batch: notes, and bytes of their texts, but at least one. */
const NOTES = 500;
const BYTES = 2 * 1024 * 1024;

/** A row of `notes`. */
interface NoteKey {
  readonly feed: number;
  readonly created_at: number;
  readonly id: NoteId;
  readonly type: number;
}

interface QueuedKey extends NoteKey {
  readonly seq: number;
}

interface ReadNote {
  /** Place in the keys, from 1. */
  readonly n: number;
  readonly metadata: string | null;
  /** Of a text that is within the limit of the batch. */
  readonly content: Uint8Array | null;
  readonly is_within: boolean;
}

/** Makes the tokens that a note is found by; see `tokensOf`. */
export type MakeTokens = (
  key: NoteKey,
  note: { readonly content: Uint8Array | undefined; readonly meta: NoteMeta },
) => string;

const KEYS = 'unnest($1::bigint[], $2::bigint[], $3::text[], $4::smallint[])';
const KEY = 'feed, created_at, id, type';
// A holder that is about to commit keeps the row locked. A moment far ahead is of a clock that was set back since.
const LEAD = statement<object>('lead_words')`
  UPDATE note_words_state SET holder = $1, until = ${NOW} + $2
  WHERE ctid = (
    SELECT ctid FROM note_words_state
    WHERE version = ${SEARCH_VERSION} AND (holder = $1 OR NOT until BETWEEN ${NOW} AND ${NOW} + ${MAX_LEAD_MS})
    FOR UPDATE SKIP LOCKED
  ) RETURNING 1`;
const LEAVE = statement('leave_words')`UPDATE note_words_state SET until = 0 WHERE holder = $1`;
const HELD = statement<object>('words_held')`
  SELECT FROM note_words_state WHERE holder = $1 AND version = ${SEARCH_VERSION} FOR UPDATE`;
const QUEUED = statement<QueuedKey>('queued_words')`
  SELECT seq, ${KEY} FROM words_to_make WHERE feed <> ${MARK_FEED} ORDER BY seq LIMIT ${NOTES}`;
const DONE_UP_TO = statement<NoteKey & { is_whole: boolean }>('words_up_to')`
  SELECT ${KEY}, ${HAS_MARKS}
    AND (feed < ${ALL_FEEDS} OR to_regclass('${WORD_INDEX}') IS NOT NULL) AS is_whole
  FROM note_words_state`;
const NEXT = statement<NoteKey>('next_words')`
  SELECT ${KEY} FROM notes WHERE (${KEY}) > ($1, $2, $3, $4) ORDER BY ${KEY} LIMIT ${NOTES}`;
const READ = statement<ReadNote>('read_for_words')`
  SELECT n, metadata, is_within, CASE WHEN type = 0 AND is_within THEN content END AS content FROM (
    SELECT n, notes.*, coalesce(sum(size) FILTER (WHERE type = 0) OVER (
      ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) < ${BYTES} AS is_within
    FROM (SELECT n, feed, created_at, id, type FROM ${KEYS} WITH ORDINALITY AS key (${KEY}, n)) AS key
    JOIN notes USING (${KEY})
  ) AS found`;
const STORE = statement('store_words')`
  INSERT INTO note_words (${KEY}, words)
  SELECT ${KEY}, array_to_tsvector(string_to_array(tokens, E'\\n')) FROM unnest($1::bigint[], $2::bigint[], $3::text[],
    $4::smallint[], $5::text[]) AS made (${KEY}, tokens)
  ON CONFLICT (${KEY}) DO UPDATE SET words = excluded.words`;
const REMOVE = statement('remove_words')`
  DELETE FROM note_words USING ${KEYS} AS gone (${KEY})
  WHERE note_words.feed = gone.feed AND note_words.created_at = gone.created_at AND note_words.id = gone.id
    AND note_words.type = gone.type`;
const FORGET = statement('forget_queued_words')`DELETE FROM words_to_make WHERE seq = ANY ($1)`;
const SET_DONE = statement('set_words_up_to')`
  UPDATE note_words_state SET feed = $1, created_at = $2, id = $3, type = $4`;
const DROP_INDEX: Statement<never> = { name: 'drop_word_index', text: `DROP INDEX IF EXISTS ${WORD_INDEX}` };
const MARK_WORDS = statement('mark_words')`
  INSERT INTO note_words (${KEY}, words) VALUES (${MARK_FEED}, 0, '', 0, '') ON CONFLICT DO NOTHING`;
const MARK_QUEUE = statement('mark_queue')`
  INSERT INTO words_to_make (${KEY}) SELECT ${MARK_FEED}, 0, '', 0
  WHERE NOT EXISTS (SELECT FROM words_to_make WHERE feed = ${MARK_FEED})`;

/** The row that says how far words are made is gone. */
export class SearchEmptied extends Error {}

/** Another process makes words now. */
class NotLeading extends Error {}

/**
 * Makes the words of notes in batches. Each batch is one transaction, so it can be stopped at any moment, and it changes nothing if this process
 * has lost the lease.
 */
export class WordMaker {
  readonly #database: Pick<Database, 'name' | 'transaction' | 'write'>;
  readonly #tokensOf: MakeTokens;
  readonly #ensureIndex: () => Promise<void>;
  #leadsUntil = 0;
  #leadMs = LEAD_MS;

  /** @param ensureIndex makes the index of words, which may take minutes */
  constructor(
    database: Pick<Database, 'name' | 'transaction' | 'write'>,
    { tokensOf, ensureIndex }: { readonly tokensOf: MakeTokens; readonly ensureIndex: () => Promise<void> },
  ) {
    this.#database = database;
    this.#tokensOf = tokensOf;
    this.#ensureIndex = ensureIndex;
  }

  /**
   * Makes the words of some notes: of those that changed, then of those that were there before. False if there are none, or another process makes
   * them. Throws as `Database`.
   */
  async step(): Promise<boolean> {
    try {
      if (!(await this.#leads())) return false;
      if ((await this.#makeQueued()) || (await this.#makeNext())) return true;
      this.#leadMs = LEAD_MS;
    } catch (error) {
      if (!(error instanceof NotLeading)) throw error;
      this.#leadsUntil = 0;
      // Otherwise processes whose notes take longer than the lease would take it from each other for ever.
      this.#leadMs = Math.min(2 * this.#leadMs, MAX_LEAD_MS);
    }
    return false;
  }

  /** Whether this process is the one that makes words, for some seconds. */
  get isLeading(): boolean {
    return performance.now() < this.#leadsUntil;
  }

  /** Gives up the lease, so that another process can make words at once. */
  async leave(): Promise<void> {
    if (this.isLeading) await this.#database.write(LEAVE, [this.#database.name]);
  }

  async #leads(): Promise<boolean> {
    return performance.now() < this.#leadsUntil - this.#leadMs / 2 || this.#lead();
  }

  async #lead(): Promise<boolean> {
    const now = performance.now();
    const isLeading = (await this.#database.write(LEAD, [this.#database.name, this.#leadMs])).length > 0;
    this.#leadsUntil = isLeading ? now + this.#leadMs : 0;
    if (!isLeading && (await this.#database.write(DONE_UP_TO, [])).length === 0) throw new SearchEmptied();
    return isLeading;
  }

  async #makeQueued(): Promise<boolean> {
    const queued = await this.#database.write(QUEUED, []);
    await this.#make(queued, (made, transaction) =>
      transaction.send(FORGET, [queued.slice(0, made).map(({ seq }) => seq)]),
    );
    return queued.length > 0;
  }

  /** The notes of the next place, and all again where tables were emptied. */
  async #makeNext(): Promise<boolean> {
    const [upTo] = await this.#database.write(DONE_UP_TO, []);
    if (!upTo?.is_whole) {
      await this.#begin();
      return true;
    }
    if (upTo.feed === ALL_FEEDS) return false;
    const next = await this.#database.write(NEXT, [upTo.feed, upTo.created_at, upTo.id, upTo.type]);
    if (next.length === 0) await this.#whileLeading(this.#ensureIndex());
    await this.#make(next, (made, transaction) => {
      const { feed, created_at, id, type } = next[made - 1] ?? { ...upTo, feed: ALL_FEEDS };
      transaction.send(SET_DONE, [feed, created_at, id, type]);
    });
    return true;
  }

  async #whileLeading(work: Promise<void>): Promise<void> {
    const renewal = setInterval(() => this.#lead().catch(() => {}), LEAD_MS / 3);
    await work.finally(() => clearInterval(renewal));
  }

  #begin(): Promise<void> {
    return this.#alone((transaction) => {
      transaction.send(DROP_INDEX, []);
      transaction.send(MARK_WORDS, []);
      transaction.send(MARK_QUEUE, []);
      transaction.send(SET_DONE, [MARK_FEED, 0, '', 0]);
    });
  }

  /** @param end is told how many of the keys are done */
  async #make(
    keys: readonly NoteKey[],
    end: (made: number, transaction: Transaction) => void,
  ): Promise<void> {
    const columns = columnsOf(keys, 'feed', 'created_at', 'id', 'type');
    const notes = keys.length > 0 ? await this.#database.write(READ, columns) : [];
    const late = notes.filter((note) => !note.is_within).map(({ n }) => n - 1);
    const made = Math.min(keys.length, ...late);
    const tokens = new Map<NoteKey, string>();
    for (const { n, metadata, content } of notes) {
      if (!(await this.#leads())) throw new NotLeading();
      const key = keys[n - 1]!;
      if (n <= made)
        tokens.set(key, this.#tokensOf(key, { content: content ?? undefined, ...metaOf(metadata) }));
    }
    // A note that changed several times is several times in the queue.
    const last = new Map(
      keys.slice(0, made).map((key) => [[key.feed, key.created_at, key.id, key.type].join(), key]),
    );
    const found = [...last.values()].map((key) => ({ ...key, tokens: tokens.get(key) ?? '' }));
    const [kept, gone] = [found.filter((one) => one.tokens !== ''), found.filter((one) => one.tokens === '')];
    await this.#alone((transaction) => {
      if (kept.length > 0)
        transaction.send(STORE, columnsOf(kept, 'feed', 'created_at', 'id', 'type', 'tokens'));
      if (gone.length > 0) transaction.send(REMOVE, columnsOf(gone, 'feed', 'created_at', 'id', 'type'));
      end(made, transaction);
    });
  }

  #alone(work: (transaction: Transaction) => void): Promise<void> {
    return this.#database.transaction(async (transaction) => {
      // Batches that a crash of the server loses are made again.
      transaction.send(COMMIT_LATER, []);
      if ((await transaction.run(HELD, [this.#database.name])).length === 0) throw new NotLeading();
      work(transaction);
    });
  }
}

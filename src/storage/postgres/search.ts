import type { AdmittedFeed } from '../../feeds/feed.ts';
import { type NoteId, noteFile } from '../../feeds/names.ts';
import { NOTE_TYPES } from '../../feeds/note-types.ts';
import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import { positionValues } from '../rows.ts';
import type { FoundPositions } from '../search/note-indexer.ts';
import type { NoteSearch } from '../storage.ts';
import { Database } from './database.ts';
import { NO_TABLES } from './failures.ts';
import { tsqueryOf } from './note-tokens.ts';
import { NEWEST_FIRST } from './reads.ts';
import { ALL_FEEDS, HAS_MARKS, SEARCH_VERSION, WORD_INDEX } from './search-schema.ts';
import { statement } from './transaction.ts';

/** How long each of the statements of a search may take, ms; there are three at most. */
const STATEMENT_MS = 16;
const CONNECTIONS = 2;
/** How many of the newest notes are examined one by one first: words that many notes have are found there. */
const NEWEST_NOTES = 1_000;
/** How many are examined if the index finds too many, because then some of these probably match. */
const MAX_NEWEST_NOTES = 20_000;
const CANCELLED = '57014';

interface FoundRow {
  readonly is_ready: boolean;
  readonly is_current: boolean;
  /** Null in the only row if nothing is found. */
  readonly id: NoteId | null;
  readonly type: number;
  readonly created_at: number;
}

/** Values: `$1` is `Feed.key`, `$2` to `$4` the place after which notes are found, `$5` and `$6` their dates, `$7` the limit, `$8` the words. */
const WITHIN = '(created_at, id, type) < ($2, $3, $4) AND created_at BETWEEN $5 AND $6';
const KEY = 'created_at, id, type';
/** No note is loaded here, because the time that this process takes to read the answer counts, too. */
const foundFrom = (keys: string) => `
  SELECT state.*, found.*
  FROM (
    SELECT coalesce((SELECT version = ${SEARCH_VERSION} AND feed = ${ALL_FEEDS} FROM note_words_state), false)
        AND ${HAS_MARKS}
        AND to_regclass('${WORD_INDEX}') IS NOT NULL AS is_ready,
      NOT EXISTS (SELECT FROM words_to_make WHERE feed = $1::bigint) AS is_current
  ) AS state LEFT JOIN (${keys} ORDER BY ${NEWEST_FIRST} LIMIT $7) AS found ON true ORDER BY ${NEWEST_FIRST}`;
/** Looks at so many notes, the last value, and stops as soon as there are enough. */
const AMONG_NEWEST = statement<FoundRow>('search_newest')`${foundFrom(`
  SELECT ${KEY} FROM (
    SELECT ${KEY}, words FROM note_words WHERE feed = $1 AND ${WITHIN} ORDER BY ${NEWEST_FIRST} LIMIT $9
  ) AS near WHERE words @@ $8::tsquery`)}`;
const ALL = statement<FoundRow>('search_all')`${foundFrom(`
  SELECT ${KEY} FROM note_words
  WHERE ARRAY[feed] @> ARRAY[$1::bigint] AND words @@ $8::tsquery AND ${WITHIN}`)}`;

/** Finds notes by the words that are made of them, on connections of its own: no search keeps others from reading. */
export class PostgresSearch {
  readonly #database: Database;

  /** @param isPooled see `DatabaseOptions` */
  constructor(url: string, isPooled: boolean) {
    const limits = { statementMs: STATEMENT_MS, usesBitmaps: true };
    this.#database = new Database(url, { limits, connections: CONNECTIONS, isPooled });
  }

  /** Notes that may match, newest first, some of which may be gone. Throws as `Storage.search`. */
  async find({ key }: AdmittedFeed, search: NoteSearch): Promise<FoundPositions> {
    const { limit, before, from = Number.MIN_SAFE_INTEGER, to = Number.MAX_SAFE_INTEGER } = search;
    const values = [key, ...positionValues(before), from, to, limit + 1, tsqueryOf(search)];
    const near = await this.#positions(AMONG_NEWEST, [...values, NEWEST_NOTES], limit);
    if (near?.next) return near;
    const all = await this.#positions(ALL, values, limit);
    if (all) return all;
    const some = near && (await this.#positions(AMONG_NEWEST, [...values, MAX_NEWEST_NOTES], limit));
    if (some?.next) return some;
    throw new Refusal('busy', 'The search takes too long, please try other words.');
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** Undefined if it takes too long. */
  async #positions(
    query: typeof AMONG_NEWEST,
    values: unknown[],
    limit: number,
  ): Promise<FoundPositions | undefined> {
    const rows = await this.#database.read(query, values).catch((error: Error) => {
      const code = errorCode(error.cause) ?? '';
      if (code === CANCELLED) return undefined;
      if (NO_TABLES.test(code)) throw beingMade();
      throw error;
    });
    if (!rows) return undefined;
    if (!rows[0]?.is_ready) throw beingMade();
    const found = rows.flatMap(({ id, type, created_at: createdAt }) =>
      id === null ? [] : { createdAt, file: noteFile(id, NOTE_TYPES[type]!) },
    );
    const positions = found.slice(0, limit);
    const next = found.length > limit ? positions.at(-1) : undefined;
    return { positions, next, isCurrent: rows[0].is_current };
  }
}

function beingMade(): Refusal {
  return new Refusal('busy', 'The notes are being prepared for searches, please try again in a moment.');
}

import type { AdmittedFeed, Feed } from '../../feeds/feed.ts';
import {
  type FeedName,
  type NoteFile,
  type NoteId,
  noteFile,
  parseNoteFile,
  type ReadId,
} from '../../feeds/names.ts';
import type { Note } from '../../feeds/note.ts';
import { NOTE_TYPES, type NoteType } from '../../feeds/note-types.ts';
import type { Position } from '../../feeds/order.ts';
import type { Arrival, Arrivals } from '../arrivals.ts';
import { BatchedCalls } from '../batcher.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { DatabaseStorage } from '../database-storage.ts';
import { storeUnavailable } from '../failures.ts';
import type { LoadedNotes } from '../found-page.ts';
import {
  FEED_COLUMNS,
  type FeedRow,
  feedOf,
  type NoteRow,
  noteOf,
  pageOf,
  positionValues,
  refValues,
  typeNumber,
} from '../rows.ts';
import {
  type FeedListPage,
  type FeedListQuery,
  type FeedPage,
  type FeedRef,
  MAX_LISTED_TAGS,
  type Neighbours,
  PAGE_TEXT_BYTES,
  type Page,
  type PageQuery,
  type StoredFile,
  type TagCount,
  type Totals,
} from '../storage.ts';
import { FILE_COLUMNS, type FileRow, type Piece, storedFile } from '../stored-file.ts';
import { findArrivals } from './arrival-reads.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { mayWorkAlone } from './failures.ts';
import { CONTENTLESS_COLUMNS, isLive, NOTE_COLUMNS, OF_FEED } from './note-rows.ts';
import { listFeeds, totals } from './overview.ts';
import { columnsOf, statement, transposed } from './transaction.ts';

const NO_NOTES: Page = { notes: [], next: undefined };
/** Bytes of text that a page is expected to have, which bounds the pages of one statement. Most have far less. */
const PAGE_BYTES = PAGE_TEXT_BYTES / 4;
/** Bytes of a note come in pieces of this size, because the client decodes each from hex text in one go. */
const PIECE_BYTES = 256 * 1024;

export const NEWEST_FIRST = 'created_at DESC, id DESC, type DESC';
const TEXT = typeNumber('md');

interface PlacedRow extends NoteRow {
  /** Null in the row of an empty page. */
  readonly place: number | null;
}

interface PageRow extends PlacedRow {
  readonly feed: FeedRow | null;
}

interface WantedPage extends PageQuery {
  readonly ref: FeedRef;
}

interface WantedFile {
  readonly ref: FeedRef;
  readonly id: NoteId;
  readonly type: NoteType;
}

interface WantedPiece extends Pick<FileRow, 'feed' | 'id' | 'type' | 'modified_at' | 'sha256'> {
  /** From 1. */
  readonly start: number;
  readonly length: number;
}

/** Fails if a table is gone; gives no row if they are there without what is in them. */
const STATE = statement<{ is_read_only: boolean }>('state')`
  SELECT current_setting('transaction_read_only') = 'on' AS is_read_only FROM feed_counts
  WHERE slot = 0 AND NOT EXISTS (SELECT FROM feeds, notes, tags, freed_keys, sweeper, token_series, operator_records WHERE false)`;
const FEEDS = statement<FeedRow>('feeds')`SELECT ${FEED_COLUMNS} FROM feeds WHERE name = ANY ($1)`;
const FEED_BY_READ_ID = statement<FeedRow>('feed_by_read_id')`
  SELECT ${FEED_COLUMNS} FROM feeds WHERE read_id = $1 AND name IS NOT NULL AND NOT blocked`;
const ANY_FEED_BY_READ_ID = statement<FeedRow>('any_feed_by_read_id')`
  SELECT ${FEED_COLUMNS} FROM feeds WHERE read_id = $1 AND name IS NOT NULL`;
/** The feed of `refValues`. */
const feedOfRef = (key: string, readId: string) =>
  `FROM feeds WHERE feeds.id = coalesce(${key}, (SELECT id FROM feeds WHERE read_id = ${readId} AND NOT blocked)) AND name IS NOT NULL`;
/** Columns of a page's notes in their order, with those texts that the ones before them leave a place for. */
const PLACED_COLUMNS = `${CONTENTLESS_COLUMNS}, row_number() OVER newest AS place,
  CASE WHEN type = 0 AND coalesce(sum(size) FILTER (WHERE type = 0) OVER (
    newest ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) < ${PAGE_TEXT_BYTES}
  THEN content END AS content`;
const IN_ORDER = `WINDOW newest AS (ORDER BY ${NEWEST_FIRST}) ORDER BY ${NEWEST_FIRST}`;
/** The pages of several calls. The feed is in the row of a page's first note, or in its only row, which has no note. */
const PAGES = statement<PageRow & Numbered>('pages')`
  SELECT wanted.number::integer, CASE WHEN coalesce(place, 1) = 1 THEN to_json(feed) END AS feed, page.*
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::smallint[], $6::integer[])
    WITH ORDINALITY AS wanted (key, read_id, created_at, id, type, most, number)
  CROSS JOIN LATERAL (SELECT ${FEED_COLUMNS} ${feedOfRef('wanted.key', 'wanted.read_id')}) AS feed
  LEFT JOIN LATERAL (
    SELECT ${PLACED_COLUMNS} FROM notes WHERE notes.feed = feed.id
    AND (notes.created_at, notes.id, notes.type) < (wanted.created_at, wanted.id, wanted.type)
    AND ${isLive('$7')} ${IN_ORDER} LIMIT wanted.most
  ) AS page ON true`;
// The inner part comes first, whatever the server thinks of it: the feed may be far larger than most.
const TAGGED_PAGE = statement<PageRow>('tagged_page')`
  SELECT CASE WHEN coalesce(place, 1) = 1 THEN to_json(feed) END AS feed, page.*
  FROM (SELECT ${FEED_COLUMNS} ${feedOfRef('$1', '$2')}) AS feed LEFT JOIN LATERAL (
    SELECT ${PLACED_COLUMNS} FROM (
      SELECT tags.feed, created_at, id, type FROM tags
      WHERE tags.feed = feed.id AND tag = $8 AND (created_at, id, type) < ($3, $4, $5) AND ${isLive('$7')}
      ORDER BY ${NEWEST_FIRST} LIMIT $6
    ) AS tagged JOIN notes USING (feed, created_at, id, type) ${IN_ORDER}
  ) AS page ON true`;
// Each note is looked up by itself, whatever the server thinks of how many the feed has.
const NOTES = statement<PlacedRow>('notes')`
  SELECT ${PLACED_COLUMNS} FROM unnest($2::text[], $3::smallint[]) AS wanted (wanted_id, wanted_type) CROSS JOIN LATERAL (
    SELECT ${CONTENTLESS_COLUMNS}, content FROM notes
    WHERE feed ${OF_FEED} AND id = wanted_id AND type = wanted_type AND ${isLive('$4')} OFFSET 0
  ) AS note ${IN_ORDER}`;
const NOTE = statement<NoteRow>('note')`
  SELECT ${NOTE_COLUMNS} FROM notes WHERE feed ${OF_FEED} AND id = $2 AND ${isLive('$3')} ORDER BY type LIMIT 1`;
const TAGS = statement<TagCount>('tags')`
  SELECT tag, count(*)::integer AS count FROM tags
  WHERE feed ${OF_FEED} AND tag >= $2 AND tag < $2 || chr(${0x10ffff}) AND ${isLive('$3')}
  GROUP BY tag ORDER BY count DESC, tag LIMIT ${MAX_LISTED_TAGS}`;
const NEIGHBOURS = statement<Record<'older' | 'newer', NoteId | null> & { expires: number | null }>(
  'neighbours',
)`
  SELECT older.id AS older, newer.id AS newer, least(older.expires_at, newer.expires_at) AS expires FROM
    (SELECT id, expires_at FROM notes WHERE feed ${OF_FEED} AND (created_at, id, type) < ($2, $3, $4) AND ${isLive('$5')}
     ORDER BY ${NEWEST_FIRST} LIMIT 1) AS older
  FULL JOIN
    (SELECT id, expires_at FROM notes WHERE feed ${OF_FEED} AND (created_at, id, type) > ($2, $3, $4) AND ${isLive('$5')}
     ORDER BY created_at, id, type LIMIT 1) AS newer ON true`;
const STATS = statement<FileRow & Numbered>('stats')`
  SELECT wanted.number::integer, note.* FROM unnest($1::bigint[], $2::text[], $3::text[], $4::smallint[])
    WITH ORDINALITY AS wanted (key, read_id, id, type, number)
  CROSS JOIN LATERAL (
    SELECT ${FILE_COLUMNS}, expires_at FROM notes WHERE feed = (SELECT id ${feedOfRef('wanted.key', 'wanted.read_id')})
    AND notes.id = wanted.id AND notes.type = wanted.type AND ${isLive('$5')} OFFSET 0
  ) AS note`;
const PIECES = statement<Piece & Numbered>('pieces')`
  SELECT wanted.number::integer, substring(content FROM wanted.start FOR wanted.length) AS content
  FROM unnest($1::bigint[], $2::text[], $3::smallint[], $4::bigint[], $5::text[], $6::integer[], $7::integer[])
    WITH ORDINALITY AS wanted (feed, id, type, modified_at, sha256, start, length, number)
  JOIN notes USING (feed, id, type, modified_at)
  WHERE image_key IS NULL AND notes.sha256 IS NOT DISTINCT FROM wanted.sha256`;

/** A row of a statement that answers several calls. `number` says which call it is for; the first is 1. */
interface Numbered {
  readonly number: number;
}

/**
 * The part of the storage that reads. Each call sees one state of the database, with all that was committed before the
 * call.
 */
export abstract class PostgresReads extends DatabaseStorage {
  protected readonly database: Database;
  /** A connection of its own: to count the tags of a large feed takes seconds, and must not keep others from reading. */
  readonly #tagCounts: Database;
  readonly #feeds: BatchedCalls<FeedName, Feed | undefined>;
  readonly #pages: BatchedCalls<WantedPage, FeedPage | undefined>;
  readonly #stats: BatchedCalls<WantedFile, FileRow | undefined>;
  readonly #pieces: BatchedCalls<WantedPiece, Piece | undefined>;

  constructor(url: string, options: DatabaseOptions, commits: CommitObserver | undefined) {
    super(commits);
    const database = new Database(url, options);
    this.database = database;
    this.#tagCounts = new Database(url, { ...options, connections: 1 });
    this.#feeds = new BatchedCalls(async (names) => {
      const rows = await database.read(FEEDS, [[...new Set(names)]]);
      const feeds = new Map(rows.map((row) => [row.name, feedOf(row)]));
      return names.map((name) => feeds.get(name));
    });
    this.#pages = batched(
      (wanted) => {
        const values = wanted.map(({ ref, before, limit }) => [
          ...refValues(ref),
          ...positionValues(before),
          limit + 1,
        ]);
        return database.read(PAGES, [...transposed(values), Date.now()]);
      },
      (rows, { limit }) => pageOfRows(rows, limit),
      () => PAGE_BYTES,
    );
    this.#stats = batched(
      (wanted) => {
        const values = wanted.map(({ ref, id, type }) => [...refValues(ref), id, typeNumber(type)]);
        return database.read(STATS, [...transposed(values), Date.now()]);
      },
      ([row]) => row,
    );
    this.#pieces = batched(
      (wanted) =>
        database.read(
          PIECES,
          columnsOf(wanted, 'feed', 'id', 'type', 'modified_at', 'sha256', 'start', 'length'),
        ),
      ([row]) => row,
      ({ length }) => length,
    );
  }

  /** Closes the connections; see `Database.close`. */
  protected async disconnect(): Promise<void> {
    await Promise.all([this.database.close(), this.#tagCounts.close()]);
  }

  async check(): Promise<void> {
    const [row] = await this.database.read(STATE, []);
    if (!row) throw storeUnavailable(new Error('the database is empty'));
    if (row.is_read_only) throw storeUnavailable(new Error('the database can only be read'));
  }

  /** Asked for by every request by a feed's name. */
  feed(name: FeedName): Promise<Feed | undefined> {
    return this.#feeds.call(name);
  }

  feedToPost(name: FeedName): Promise<Feed | undefined> {
    return this.#feeds.call(name);
  }

  async feedByReadId(readId: ReadId): Promise<Feed | undefined> {
    const [row] = await this.database.read(FEED_BY_READ_ID, [readId]);
    return row && feedOf(row);
  }

  async anyFeedByReadId(readId: ReadId): Promise<Feed | undefined> {
    const [row] = await this.database.read(ANY_FEED_BY_READ_ID, [readId]);
    return row && feedOf(row);
  }

  totals(): Promise<Totals> {
    return totals(this.database);
  }

  listFeeds(query: FeedListQuery): Promise<FeedListPage> {
    return listFeeds(this.database, query);
  }

  async page(feed: AdmittedFeed, query: PageQuery): Promise<Page> {
    const { notes, next } = (await this.#page(feed, query)) ?? NO_NOTES;
    return { notes, next };
  }

  pageByReadId(readId: ReadId, query: PageQuery): Promise<FeedPage | undefined> {
    return this.#page({ readId }, query);
  }

  async #page(ref: FeedRef, query: PageQuery): Promise<FeedPage | undefined> {
    const { limit, before, tag } = query;
    if (tag === undefined) return this.#pages.call({ ...query, ref });
    const values = [...refValues(ref), ...positionValues(before), limit + 1, Date.now(), tag];
    return pageOfRows(await this.database.read(TAGGED_PAGE, values), limit);
  }

  async note({ key }: AdmittedFeed, id: NoteId): Promise<Note | undefined> {
    const [row] = await this.database.read(NOTE, [key, id, Date.now()]);
    return row && noteOf(row);
  }

  tags({ key }: AdmittedFeed, prefix: string): Promise<readonly TagCount[]> {
    return this.#tagCounts.read(TAGS, [key, prefix, Date.now()]);
  }

  /** The notes of files, newest first, see `foundPage`. */
  protected async notes({ key }: AdmittedFeed, files: readonly NoteFile[]): Promise<LoadedNotes> {
    const named = files.map((file) => parseNoteFile(file)!);
    const types = named.map(({ type }) => typeNumber(type));
    const rows = await this.database.read(NOTES, [key, named.map(({ id }) => id), types, Date.now()]);
    const { notes, cut } = sortedAndCut(rows);
    const first = notes[cut];
    const count = first ? files.indexOf(noteFile(first.id, NOTE_TYPES[first.type]!)) : files.length;
    return { notes: notes.slice(0, cut).map(noteOf), count };
  }

  async neighbours({ key }: AdmittedFeed, position: Position): Promise<Neighbours> {
    const [row] = await this.database.read(NEIGHBOURS, [key, ...positionValues(position), Date.now()]);
    const expires = row?.expires ?? Number.POSITIVE_INFINITY;
    return { older: row?.older ?? undefined, newer: row?.newer ?? undefined, expires };
  }

  arrivals(
    feed: AdmittedFeed,
    since: Arrival | NoteId | undefined,
    limit: number,
  ): Promise<Arrivals | undefined> {
    return findArrivals(this.database, feed, since, limit);
  }

  async stat(feed: FeedRef, file: NoteFile): Promise<StoredFile | undefined> {
    const named = parseNoteFile(file);
    if (!named) return undefined;
    const row = await this.#stats.call({ ref: feed, id: named.id, type: named.type });
    return (
      row &&
      storedFile(row, PIECE_BYTES, (file, start, length) =>
        this.#pieces.call({ ...file, start: start + 1, length }),
      )
    );
  }
}

/**
 * Answers all waiting calls by one statement, because a statement costs more than its rows.
 * @param ask runs the statement for all calls
 * @param resultOf of the rows of one call
 * @param sizeOf about how many bytes its rows have
 */
function batched<I, R, Row extends Numbered>(
  ask: (inputs: readonly I[]) => Promise<readonly Row[]>,
  resultOf: (rows: readonly Row[], input: I) => R,
  sizeOf?: (input: I) => number,
): BatchedCalls<I, R> {
  const answer = async (inputs: readonly I[]): Promise<(R | Error)[]> => {
    try {
      const rows = Map.groupBy(await ask(inputs), ({ number }) => number);
      return inputs.map((input, n) => resultOf(rows.get(n + 1) ?? [], input));
    } catch (error) {
      if (inputs.length === 1 || !mayWorkAlone(error)) throw error;
      const alone = inputs.map((input) => answer([input]).catch((error: Error) => [error]));
      return (await Promise.all(alone)).flat();
    }
  };
  return new BatchedCalls(answer, sizeOf);
}

function pageOfRows(rows: readonly PageRow[], limit: number): FeedPage | undefined {
  const feed = rows.find((row) => row.feed)?.feed;
  if (!feed) return undefined;
  const { notes, cut } = sortedAndCut(rows);
  const count = Math.min(limit, cut);
  return { feed: feedOf(feed), ...pageOf(notes.slice(0, count).map(noteOf), count === notes.length) };
}

/** The notes in their order, and the index of the first text that did not fit; the number of notes if all did. */
function sortedAndCut<R extends PlacedRow>(rows: readonly R[]): { notes: R[]; cut: number } {
  const notes = rows.filter(({ place }) => place !== null).sort((a, b) => a.place! - b.place!);
  const cut = notes.findIndex(({ type, content }) => type === TEXT && content === null);
  return { notes, cut: cut < 0 ? notes.length : cut };
}

import { LRUCache } from 'lru-cache';
import type { FeedName } from '../../feeds/names.ts';
import type { LicenseCheck } from '../../licenses/licenses.ts';
import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { type Command, mainNote, type Post } from '../../writing/command.ts';
import type { InstanceLimits, WritingRules } from '../../writing/decide.ts';
import { BatchedCalls } from '../batcher.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { foundPage } from '../found-page.ts';
import type { OperatorRecords } from '../operator-records.ts';
import type { FeedChange, FreshnessListener, Storage, Written } from '../storage.ts';
import { ChangeListener } from './change-listener.ts';
import { decodeChanges } from './change-notice.ts';
import { ChangeNotifier } from './change-notifier.ts';
import { removeChanges } from './changes-table.ts';
import { Clearing } from './clearing.ts';
import { ClientCounts, type ClientCountsOptions } from './client-counts.ts';
import { connectionOptions, knownHosts } from './connection-options.ts';
import { asStartFailure, isUniqueViolation, mayWorkAlone, NOT_ALLOWED } from './failures.ts';
import { keepMovesOut, refuseDuringMove } from './move-lock.ts';
import { addRecord, recordReads, removeRecord } from './operator-records.ts';
import { PostgresPictures } from './picture-rows.ts';
import { PostgresReads } from './reads.ts';
import { migrate } from './schema.ts';
import { PostgresSearch } from './search.ts';
import { dropSearch, ensureSearch } from './search-schema.ts';
import { LostRace, statement, type Transaction } from './transaction.ts';
import { WordThread } from './word-thread.ts';
import { type Result, Writes } from './writes.ts';

const USE_TOKEN = statement<{ turn: number }>('use_token')`
  INSERT INTO token_series AS known (id, turn, until)
  VALUES ($1, CASE WHEN $2::integer = 0 THEN 1 ELSE -1 END, $3)
  ON CONFLICT (id) DO UPDATE SET turn = CASE WHEN known.turn = $2::integer THEN $2::integer + 1 ELSE -1 END
  RETURNING turn`;
/** Skips series that another container is using. */
const FORGET_SERIES = statement('forget_series')`
  DELETE FROM token_series
  WHERE id IN (SELECT id FROM token_series WHERE until <= $1 FOR UPDATE SKIP LOCKED)`;

const DUE_FEEDS = statement<{ name: FeedName }>('due_feeds')`
  SELECT name FROM feeds WHERE due_at <= $1 ORDER BY due_at LIMIT 100`;

/** The most transactions that are remembered because it is unknown whether they were committed. */
const MAX_UNSURE = 10_000;

/** How often a command is decided again, because another transaction took its name or read id. */
const MAX_ATTEMPTS = 5;

export interface PostgresOptions extends InstanceLimits {
  /** The database, `postgres://…`. A secret: it holds a password. */
  readonly url: string;
  /** Checks licenses; undefined where none is needed. */
  readonly isLicenseValid?: LicenseCheck | undefined;
  readonly log: Pick<Log, 'warn'>;
  /** Notes can be searched. */
  readonly search?: boolean;
  /** False if a pooler stands before the server, or it has no LISTEN: other processes are not told of changes but find them. */
  readonly isListening?: boolean;
  /** Observes writes and every commit; optional. */
  readonly commits?: CommitObserver | undefined;
}

/**
 * Opens the storage in a PostgreSQL database (docs/specification.md, "Storage on the database backends"), which several processes
 * may use. Throws an error with a sentence for the operator when it cannot be used.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStorage> {
  try {
    await refuseDuringMove(options.url);
    await migrate(options.url, options);
    return await PostgresStorage.start({ ...options, search: await prepareSearch(options) });
  } catch (error) {
    throw asStartFailure(error);
  }
}

/** Whether notes can be searched. A user who may not make tables has none of the search, but everything else. */
async function prepareSearch({ url, search = false, log }: PostgresOptions): Promise<boolean> {
  try {
    await (search ? ensureSearch : dropSearch)(url, log);
    return search;
  } catch (error) {
    if (errorCode(error) !== NOT_ALLOWED) throw error;
    log.warn(
      `The user of SERVICE_DATABASE_URL may not ${search ? 'make' : 'remove'} the tables and triggers of the search: ` +
        'notes cannot be searched',
    );
    return false;
  }
}

/** A storage that several processes may use. */
class PostgresStorage extends PostgresReads implements Storage {
  readonly pictureRows: PostgresPictures;
  readonly records: OperatorRecords;
  readonly search?: NonNullable<Storage['search']>;
  readonly #search: PostgresSearch | undefined;
  readonly #words: WordThread | undefined;
  readonly #rules: WritingRules;
  readonly #posts: BatchedCalls<Post, Written | undefined>;
  readonly #clearing: Clearing;
  /** By running transaction: the keys of feeds that a notice has reported already. */
  readonly #reported = new Map<string, Set<string>>();
  /** Transactions that may still be committed, at any time: a commit waits for a standby for as long as that is away. */
  readonly #unsure = new LRUCache<string, true>({ max: MAX_UNSURE });
  readonly #notifier: ChangeNotifier | undefined;
  #changesElsewhere: ChangeListener | undefined;
  #stopWatching = () => {};

  private constructor({
    url,
    maxFeeds,
    maxBytes,
    keepDays,
    isLicenseValid,
    search,
    isListening = true,
    log,
    commits,
  }: PostgresOptions) {
    super(url, isListening ? { onWriter: keepMovesOut } : { isPooled: true }, commits);
    this.#rules = { maxFeeds, maxBytes, keepDays, isLicenseValid };
    this.#posts = new BatchedCalls(
      (posts) => this.#storePosts(posts),
      ({ notes }) => notes.reduce((sum, { bytes }) => sum + bytes.byteLength, 0),
    );
    this.#clearing = new Clearing(this.database);
    this.#notifier = isListening ? new ChangeNotifier(url) : undefined;
    this.pictureRows = new PostgresPictures(this.database);
    this.records = {
      ...recordReads(this.database),
      add: (record) => this.#changeRecords((transaction) => addRecord(transaction, record)),
      remove: (kind, key) => this.#changeRecords((transaction) => removeRecord(transaction, kind, key)),
    };
    if (!search) return;
    const isPooled = !isListening;
    const found = new PostgresSearch(url, isPooled);
    this.#search = found;
    this.search = async (feed, wanted) =>
      foundPage(await found.find(feed, wanted), wanted, (files) => this.notes(feed, files));
    this.#words = new WordThread({ url, isPooled }, log);
  }

  static async start(options: PostgresOptions): Promise<PostgresStorage> {
    const storage = new PostgresStorage(options);
    const { url, isListening = true, log } = options;
    storage.#changesElsewhere = await ChangeListener.start({
      connection: connectionOptions(url),
      name: storage.database.name,
      isListening,
      ...(isListening && { onConnect: keepMovesOut }),
      onChange: (payload) => storage.#onChangeFound(payload),
      onOld: (snapshot) => void removeChanges(storage.database, snapshot).catch(() => {}),
      onFreshness: (isFresh, heardUntil) => storage.tellFreshness(isFresh, heardUntil),
      log,
    });
    const hosts = knownHosts(options.url);
    const onPromoted = () =>
      options.log.warn('another database server was promoted: it is used from now on, and no older one');
    hosts?.on('promoted', onPromoted);
    storage.#stopWatching = () => hosts?.off('promoted', onPromoted);
    storage.#clearing.wake();
    return storage;
  }

  /** A series is a row that containers share, and that is locked when a token is used. */
  useToken(series: string, place: number, until: number): Promise<boolean> {
    return this.database.transaction(async (transaction) => {
      transaction.send(FORGET_SERIES, [Date.now()]);
      const [row] = await transaction.run(USE_TOKEN, [series, place, until]);
      return row!.turn > 0;
    });
  }

  async due(now: number): Promise<readonly FeedName[]> {
    const due = await this.database.read(DUE_FEEDS, [now]);
    return due.length > 0 && (await this.pictureRows.leads()) ? due.map(({ name }) => name) : [];
  }

  override onFreshness(listener: FreshnessListener): void {
    super.onFreshness(listener);
    if (!this.#changesElsewhere?.isFresh) listener(false, 0);
  }

  /** Counts of clients that the processes share. */
  clientCounts(options: Pick<ClientCountsOptions, 'secret' | 'perMinute'>): ClientCounts {
    const containers = () => this.#changesElsewhere?.processes ?? 1;
    return new ClientCounts({ ...options, database: this.database, containers });
  }

  /** Only posts come in such numbers that they share transactions. */
  protected async store(command: Command): Promise<Written | undefined> {
    if (command.kind === 'post') return this.#posts.call(command);
    const [result] = await this.#storeAll([command]);
    if (result instanceof Error) throw result;
    if (result && command.kind === 'delete') this.#clearing.wake();
    return result;
  }

  protected override tellChange(change: FeedChange): void {
    this.#words?.wake();
    super.tellChange(change);
  }

  protected async release(): Promise<void> {
    await Promise.all([this.#clearing.stop(), this.#words?.close(), this.#search?.close()]);
    await Promise.all([this.#changesElsewhere?.close(), this.#notifier?.close()]);
    await this.disconnect();
    this.#stopWatching();
  }

  /** Posts with one key come one after the other, because a transaction looks up the notes of keys at its start. */
  async #storePosts(posts: readonly Post[]): Promise<readonly Result[]> {
    const seen = new Set<string>();
    const isLater = posts.map(({ name, notes }) => {
      const key = mainNote(notes)?.meta.key;
      return key !== undefined && seen.size === seen.add(`${name} ${key}`).size;
    });
    if (!isLater.includes(true)) return this.#storeAll(posts);
    const first = [...(await this.#storeAll(posts.filter((_, n) => !isLater[n])))];
    const others = posts.filter((_, n) => isLater[n]);
    // The first are stored, whatever becomes of the others.
    const later = [...(await this.#storePosts(others).catch((error: Error) => others.map(() => error)))];
    return isLater.map((is) => (is ? later : first).shift());
  }

  /** If commands fail together, each is stored by itself, so that a bad one fails alone. */
  async #storeAll(commands: readonly Command[]): Promise<readonly Result[]> {
    const run = () => this.#transaction((transaction) => new Writes(transaction, this.#rules).run(commands));
    try {
      const results = await (commands.length > 1 ? run() : retryRaces(run));
      this.tellCommit(results.filter((result) => !(result instanceof Error)).length);
      return results;
    } catch (error) {
      if (commands.length === 1 || !mayWorkAlone(error)) throw error;
      const results: Result[] = [];
      for (const command of commands)
        results.push(...(await this.#storeAll([command]).catch((error: Error) => [error])));
      return results;
    }
  }

  #changeRecords(work: (transaction: Transaction) => Promise<boolean>): Promise<boolean> {
    return this.change(() => retryRaces(() => this.#transaction(work)));
  }

  /** Reports the changes, once each, also if the result of the commit is unknown; then once more if they are found. */
  async #transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    let origin = '';
    let done: Transaction | undefined;
    let isUnsure = true;
    try {
      const result = await this.database.transaction(async (transaction) => {
        origin = transaction.origin;
        this.#reported.set(origin, new Set());
        const result = await work(transaction);
        done = transaction;
        return result;
      });
      isUnsure = false;
      return result;
    } finally {
      const reported = this.#reported.get(origin);
      this.#reported.delete(origin);
      for (const { key, ...change } of done?.changes ?? []) if (!reported?.has(key)) this.tellChange(change);
      // A notice before the commit would be taken for the change itself.
      if (done && isUnsure) this.#unsure.set(origin, true);
      else this.#notifier?.tell(done?.payloads ?? []);
    }
  }

  /** Our own changes are mostly found after the reply to COMMIT. They count too, because the reply may be lost. */
  #onChangeFound(payload: string): void {
    const { origin, changes } = decodeChanges(payload);
    const reported = this.#reported.get(origin);
    const isForeign = !this.database.isOwn(origin);
    if (!isForeign && !reported && !this.#unsure.has(origin)) return;
    for (const { key, ...change } of changes) {
      reported?.add(key);
      this.tellChange(isForeign ? { ...change, isForeign } : change);
    }
  }
}

/**
 * Runs a transaction again if another one took the same name or read id while it ran.
 * @throws Refusal `busy` if that happens `MAX_ATTEMPTS` times
 */
async function retryRaces<T>(run: () => Promise<T>, attempt = 1): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const isRace = error instanceof LostRace || isUniqueViolation(error);
    if (!isRace) throw error;
    if (attempt === MAX_ATTEMPTS)
      throw new Refusal('busy', 'Too many writes at once, please try again in a moment.', { cause: error });
    return retryRaces(run, attempt + 1);
  }
}

import type { Owner } from '../../privileges.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { sendable, ThreadCalls } from '../thread-calls.ts';
import type { FileWriter } from './durable.ts';
import { isPassing, unavailable } from './failures.ts';

/** What the thread is started with. */
export interface WriterData {
  readonly dir: string;
  readonly owner: Owner | undefined;
  /** Replies are to tell of the folder syncs made. */
  readonly tellsSyncs: boolean;
}

/** What writes the files of a storage. */
export interface WriterHelper extends FileWriter {
  /**
   * Called when it has died, with the folders of the writes that it had, and with its end. Writes there are refused until each is
   * released, because what it had begun may still be ended.
   */
  onDeath?: ((folders: ReadonlySet<string>, ended: Promise<unknown>) => void) | undefined;
  /** Allows writes in a folder again. */
  release(folder: string): void;
  close(): Promise<void>;
}

/** Writes on a thread of its own, so that no post holds up the event loop. */
export class WriterThread implements WriterHelper {
  onDeath?: WriterHelper['onDeath'];
  readonly #thread: ThreadCalls<FileWriter>;
  readonly #observer: CommitObserver | undefined;
  /** Of the writes that are not answered yet. */
  readonly #folders = new Set<{ readonly folder: string }>();
  /** Of writes that failed, and when: the thread may have left steps there that undo them. */
  readonly #failedAt = new Map<string, number>();
  /** Of the writes that a dead thread had. */
  readonly #held = new Set<string>();

  /** @param observer of every write and every sync of a folder */
  constructor(dir: string, owner: Owner | undefined, observer?: CommitObserver) {
    this.#observer = observer;
    const data: WriterData = { dir, owner, tellsSyncs: observer !== undefined };
    this.#thread = new ThreadCalls('write-files', data, {
      onStats: ({ commits }) => {
        for (const writes of commits) observer?.committed(writes);
      },
      onDeath: (ended) => {
        const folders = new Set([
          ...[...this.#folders].map(({ folder }) => folder),
          ...this.#failedAt.keys(),
        ]);
        this.#failedAt.clear();
        for (const folder of folders) this.#held.add(folder);
        this.onDeath?.(folders, ended);
      },
    });
  }

  readonly change: FileWriter['change'] = (folder, changes, added = [], isWhole = false) =>
    this.#write('change', folder, changes.map(sendable), added.map(sendable), isWhole);

  readonly placeFolder: FileWriter['placeFolder'] = (parent, name, parts) =>
    this.#write('placeFolder', parent, name, parts.map(sendable));

  readonly moveAway: FileWriter['moveAway'] = (...args) => this.#write('moveAway', ...args);
  readonly append: FileWriter['append'] = (...args) => this.#write('append', ...args);
  readonly finishUndo: FileWriter['finishUndo'] = (folder) => this.#write('finishUndo', folder);

  release(folder: string): void {
    this.#held.delete(folder);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  async #write<M extends keyof FileWriter>(
    method: M,
    ...args: Parameters<FileWriter[M]>
  ): Promise<Awaited<ReturnType<FileWriter[M]>>> {
    if (this.#held.has(args[0])) throw unavailable(new Error('a thread has died in this folder'));
    const begunAt = performance.now();
    const begun = { folder: args[0] };
    this.#folders.add(begun);
    try {
      const result = await (this.#thread.call(method, ...args) as ReturnType<FileWriter[M]>);
      // A write does not begin before all that is left in its folder is done.
      if ((this.#failedAt.get(begun.folder) ?? 0) < begunAt) this.#failedAt.delete(begun.folder);
      return result;
    } catch (error) {
      if (isPassing(error)) this.#failedAt.set(begun.folder, performance.now());
      throw error;
    } finally {
      this.#folders.delete(begun);
      if (method !== 'finishUndo') this.#observer?.wrote(performance.now() - begunAt);
    }
  }
}

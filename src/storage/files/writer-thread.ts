import type { WriterData } from '../../../workers/write-files.ts';
import type { Owner } from '../../privileges.ts';
import type { CommitObserver } from '../commit-observer.ts';
import { sendable, ThreadCalls } from '../thread-calls.ts';
import type { Change, FileWriter, Part, PlacedFolder } from './durable.ts';
import type { Stamp } from './stamp.ts';

/** Writes on a thread of its own, so that no post holds up the event loop. */
export class WriterThread implements FileWriter {
  readonly #thread: ThreadCalls<FileWriter>;
  readonly #observer: CommitObserver | undefined;

  /** @param observer told of every write and of every sync of a folder */
  constructor(owner: Owner | undefined, observer?: CommitObserver) {
    this.#observer = observer;
    const data: WriterData = { owner, tellsSyncs: observer !== undefined };
    this.#thread = new ThreadCalls('write-files', data, {
      onStats: ({ commits }) => {
        for (const writes of commits) observer?.committed(writes);
      },
    });
  }

  place(folder: string, parts: readonly Part[]): Promise<Stamp[]> {
    return this.#write('place', folder, parts.map(sendable));
  }

  placeFolder(parent: string, name: string, parts: readonly Part[]): Promise<PlacedFolder> {
    return this.#write('placeFolder', parent, name, parts.map(sendable));
  }

  change(
    folder: string,
    changes: readonly Change[],
    added: readonly Part[] = [],
  ): Promise<(Stamp | undefined)[]> {
    return this.#write('change', folder, changes.map(sendable), added.map(sendable));
  }

  moveAway(parent: string, name: string): Promise<string> {
    return this.#write('moveAway', parent, name);
  }

  append(folder: string, name: string, bytes: Uint8Array): Promise<void> {
    return this.#write('append', folder, name, bytes);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  async #write<M extends keyof FileWriter>(
    method: M,
    ...args: Parameters<FileWriter[M]>
  ): Promise<Awaited<ReturnType<FileWriter[M]>>> {
    const begunAt = this.#observer ? performance.now() : 0;
    try {
      return await (this.#thread.call(method, ...args) as ReturnType<FileWriter[M]>);
    } finally {
      this.#observer?.wrote(performance.now() - begunAt);
    }
  }
}

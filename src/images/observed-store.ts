import { Refusal } from '../refusals.ts';
import type { ImageStore } from './image-store.ts';

/** Told of everything that a store is asked: what, how long it took in ms, and the code of how it failed. */
export type StoreObserver = (operation: string, ms: number, failure: string | undefined) => void;

/** The same store, of which somebody hears. Of a read, the time until its first bytes. */
export function observed(store: ImageStore, observe: StoreObserver): ImageStore {
  const watched = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    const begunAt = performance.now();
    try {
      const result = await work();
      observe(operation, performance.now() - begunAt, undefined);
      return result;
    } catch (error) {
      observe(operation, performance.now() - begunAt, error instanceof Refusal ? error.code : 'internal');
      throw error;
    }
  };
  return {
    kind: store.kind,
    listsInOrder: store.listsInOrder,
    get isDown() {
      return store.isDown;
    },
    put: (key, bytes) => watched('put', () => store.put(key, bytes)),
    async *get(key, start, end) {
      const pieces = store.get(key, start, end)[Symbol.asyncIterator]();
      try {
        for (let next = await watched('get', () => pieces.next()); !next.done; next = await pieces.next())
          yield next.value;
      } finally {
        await pieces.return?.();
      }
    },
    head: (key) => watched('head', () => store.head(key)),
    delete: (key) => watched('delete', () => store.delete(key)),
    list: () => store.list(),
    now: () => watched('now', () => store.now()),
    close: () => store.close(),
  };
}

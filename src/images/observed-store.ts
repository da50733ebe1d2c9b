import { Refusal } from '../refusals.ts';
import type { ImageStore } from './image-store.ts';

/** Hears of every call: its operation, its duration in ms, and the code of its failure. */
export type StoreObserver = (operation: string, ms: number, failure: string | undefined) => void;

/** Wraps a store with metrics. Reads are timed to the first byte. */
export function withMetrics(store: ImageStore, observe: StoreObserver): ImageStore {
  const timed = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
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
    put: (key, bytes) => timed('put', () => store.put(key, bytes)),
    async *get(key, start, end) {
      const pieces = store.get(key, start, end)[Symbol.asyncIterator]();
      try {
        for (let next = await timed('get', () => pieces.next()); !next.done; next = await pieces.next())
          yield next.value;
      } finally {
        await pieces.return?.();
      }
    },
    head: (key) => timed('head', () => store.head(key)),
    delete: (key) => timed('delete', () => store.delete(key)),
    list: () => store.list(),
    now: () => timed('now', () => store.now()),
    close: () => store.close(),
  };
}

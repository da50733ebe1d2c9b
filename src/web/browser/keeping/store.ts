import { createStore, type UseStore } from 'idb-keyval';

/** A store of a database of its own. Where the browser blocks its databases, calls reject: what `createStore` returns throws at once. */
export function storeIn(database: string, name: string): UseStore {
  const store = createStore(database, name);
  return async (mode, work) => store(mode, work);
}

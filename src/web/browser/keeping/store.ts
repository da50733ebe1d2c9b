import { createStore, type UseStore } from 'idb-keyval';

/** A store in a database of its own. Its calls reject if the browser blocks databases; those of `createStore` throw there. */
export function storeIn(database: string, name: string): UseStore {
  const store = createStore(database, name);
  return async (mode, work) => store(mode, work);
}

/**
 * Returns a JavaScript expression, to be evaluated in the page. Its value is a list of all values in a store of an IndexedDB database,
 * empty if the page has not made that database.
 */
const allIn = (database: string, store: string) => `new Promise((done) => {
  const opening = indexedDB.open('${database}');
  // Making it is up to the page.
  opening.onupgradeneeded = () => opening.transaction.abort();
  opening.onerror = () => done([]);
  opening.onsuccess = () => {
    const database = opening.result;
    const request = database.transaction('${store}').objectStore('${store}').getAll();
    request.onsuccess = () => {
      database.close();
      done(request.result);
    };
  };
})`;

/** All drafts. */
export const ALL_DRAFTS = allIn('drafts', 'drafts');

/** All pictures of drafts, with their bytes. */
export const ALL_FILES = allIn('drafts', 'files');

/** All posts that wait. */
export const ALL_WAITING = allIn('outbox', 'posts');

/** A script that makes the browser keep nothing, as Firefox does where a person has blocked the data of sites. */
export const BLOCK_STORAGE = `{
  const refuse = () => { throw new DOMException('The operation is insecure.', 'SecurityError'); };
  indexedDB.open = refuse;
  for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get: refuse });
  // Error pages of the browser have no caches.
  for (const name of ['open', 'keys', 'match']) if (window.caches) caches[name] = async () => refuse();
}`;

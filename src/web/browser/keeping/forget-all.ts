import { inTime } from '../page/in-time.ts';
import { hasDrafts } from './drafts.ts';
import { forgetPosts, waiting } from './outbox.ts';
import { forgetShared, readShared } from './shared.ts';

/** What this browser keeps of the instance: drafts, the list of feeds, pages to read without a network. */

/** Keys of localStorage and sessionStorage, and names of databases and caches, begin so. */
const OWN = /^(deleting|deletions|draft|feeds|leaving|note-feed)/;
/** Logging out waits no longer for a database that another window uses; it is deleted when that window closes. */
const PATIENCE_MS = 1_000;

/** Whether this browser keeps what is not posted: drafts, posts that wait, or what another app shared; true if it does not say in time. */
export async function keepsDrafts(): Promise<boolean> {
  const found = Promise.all([hasDrafts().catch(() => false), waiting(), readShared().catch(() => undefined)]);
  return inTime(found, PATIENCE_MS).then(
    ([hasAny, posts, shared]) => hasAny || posts.length > 0 || shared !== undefined,
    () => true,
  );
}

/** Removes all that this browser keeps of the instance. Never fails: a browser that blocks a storage keeps nothing there. */
export async function forgetAll(): Promise<void> {
  for (const storage of [() => localStorage, () => sessionStorage])
    for (const key of keysOf(storage)) if (OWN.test(key)) storage().removeItem(key);
  const forgetting = [deleteDatabases(), deleteCaches(), forgetPosts(), forgetShared()];
  await inTime(Promise.allSettled(forgetting), PATIENCE_MS).catch(() => {});
}

function keysOf(storage: () => Storage): string[] {
  try {
    return Object.keys(storage());
  } catch {
    return [];
  }
}

async function deleteDatabases(): Promise<void> {
  for (const { name = '' } of await indexedDB.databases()) if (OWN.test(name)) indexedDB.deleteDatabase(name);
}

async function deleteCaches(): Promise<void> {
  for (const name of await caches.keys()) if (OWN.test(name)) await caches.delete(name);
}

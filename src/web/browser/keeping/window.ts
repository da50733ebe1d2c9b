import { randomId } from '../page/text.ts';

/** Tells windows (tabs) of this browser apart, and which of them are still open. */

/** sessionStorage key: the id of this window, which a reload and a browser that restores its windows keep. */
const KEY = 'window';
/** A lock of another page of this window is released by then, ms: it is held while the page is shown. */
const RELEASED_MS = 1_000;

let id: Promise<string> | undefined;

// The lock was released when the page was left. This listener is registered before all others, so that they find it taken again.
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted || id === undefined) return;
  id = id.then(holdAgain);
  id.catch(() => {});
});

/** The id of this window, which counts as open from now on until the page is left. */
export function holdWindow(): Promise<string> {
  id ??= take();
  return id;
}

/** Ids of the windows that are open; undefined if the browser does not tell, as without https. */
export async function livingWindows(): Promise<Set<string> | undefined> {
  if (navigator.locks === undefined) return undefined;
  const { held = [] } = await navigator.locks.query();
  return new Set(held.map(({ name = '' }) => name.replace(/^window-/, '')));
}

/** Works while another window cannot open; undefined if it is open again. A reload ends for a moment what counts as its window. */
export async function whileGone<T>(window: string, work: () => Promise<T>): Promise<T | undefined> {
  return navigator.locks.request(lockOf(window), { ifAvailable: true }, (lock) =>
    lock === null ? undefined : work(),
  );
}

/** Takes the lock of this window; returns its id. */
async function take(): Promise<string> {
  const known = sessionStorage.getItem(KEY);
  // A copy of a window, as "Duplicate tab" makes, begins with the id of the first.
  return known === null ? make() : holdAgain(known);
}

/** Takes the lock of a window again; if a copy of the window has taken it meanwhile, this one gets another id. */
async function holdAgain(window: string): Promise<string> {
  return (await lock(window)) ? window : make();
}

async function make(): Promise<string> {
  const made = randomId();
  sessionStorage.setItem(KEY, made);
  await lock(made);
  return made;
}

/** Holds the lock of a window while its page is shown. Returns false if another window holds it. */
function lock(window: string): Promise<boolean> {
  if (navigator.locks === undefined) return Promise.resolve(true);
  return new Promise((resolve) => {
    const held = () => {
      resolve(true);
      return new Promise<void>((release) => addEventListener('pagehide', () => release(), { once: true }));
    };
    const signal = AbortSignal.timeout(RELEASED_MS);
    navigator.locks.request(lockOf(window), { signal }, held).catch(() => resolve(false));
  });
}

function lockOf(window: string): string {
  return `window-${window}`;
}

import { freshPage } from './fresh.ts';

// Keeps the notes of this page up to date: a stream says when to fetch the page again (docs/contract.md, section 8).

/** Polling interval without an event stream; a browser allows only six connections per host. */
const POLL_MS = 30_000;

const status = document.createElement('p');
status.role = 'status';
status.className = 'unseen';
document.body.append(status);

/** Undefined while the page is hidden. */
let stream: EventSource | undefined;
/** The last refresh failed. */
let isStale = false;
let refreshing: Promise<void> | undefined;

document.addEventListener('visibilitychange', listen);
addEventListener('pagehide', stop);
addEventListener('online', listen);
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) listen();
});
listen();

// Polls while the stream is not open: it may be refused, or wait for a connection.
setInterval(() => {
  if (stream === undefined || (stream.readyState === EventSource.OPEN && !isStale)) return;
  void refresh();
  // A browser reconnects a lost stream, but not a refused one.
  if (stream.readyState === EventSource.CLOSED) listen();
}, POLL_MS);

/** Fetches this page and shows its notes. Calls during a refresh share one that begins after it. */
export async function refresh(): Promise<void> {
  await refreshing;
  refreshing ??= fetchNotes().finally(() => {
    refreshing = undefined;
  });
  return refreshing;
}

/** Opens a new stream, unless the page is hidden. */
function listen(): void {
  stop();
  if (document.visibilityState === 'hidden') return;
  const { events, version = '' } = notes().dataset;
  stream = new EventSource(`${events}?since=${encodeURIComponent(version)}`);
  stream.addEventListener('changed', ({ lastEventId }) => {
    if (lastEventId !== notes().dataset.version) void refresh();
  });
}

function stop(): void {
  stream?.close();
  stream = undefined;
}

async function fetchNotes(): Promise<void> {
  const { page } = await freshPage();
  isStale = page === undefined;
  if (page === undefined) return;
  const identity = page.querySelector<HTMLElement>('#compose')?.dataset.identity;
  const fresh = page.querySelector<HTMLElement>('#notes');
  if (fresh === null || fresh.dataset.version === notes().dataset.version) return;
  const added = show(document.adoptNode(fresh), identity);
  if (added > 0) status.textContent = added === 1 ? 'There is a new note.' : `There are ${added} new notes.`;
}

/**
 * Returns how many notes are new.
 * @param identity of the feed as it is now
 */
function show(fresh: HTMLElement, identity = ''): number {
  const shown = notes();
  const focused = document.activeElement;
  const before = new Map([...shown.querySelectorAll('article')].map((article) => [article.id, article]));
  let added = 0;
  for (const article of fresh.querySelectorAll('article')) {
    const same = before.get(article.id);
    if (same === undefined) added += 1;
    // An unchanged note keeps its element, and with it selection, focus and loaded pictures.
    else if (same.isEqualNode(article)) article.replaceWith(same);
  }
  shown.replaceWith(fresh);
  if (focused instanceof HTMLElement && focused.isConnected && focused !== document.body)
    focused.focus({ preventScroll: true });
  if (before.size === 0 && added > 0) showFeedMade(identity);
  return added;
}

/**
 * The form of a page without a feed posts to the feed that has appeared, unless a password for a new feed was typed into it.
 */
function showFeedMade(identity: string): void {
  const form = document.querySelector<HTMLElement>('#compose');
  if (form?.querySelector<HTMLInputElement>('[name=password]')?.value) return;
  if (form?.dataset.identity === '') form.dataset.identity = identity;
  for (const element of document.querySelectorAll('[data-empty-feed]')) element.remove();
}

function notes(): HTMLElement {
  return document.querySelector<HTMLElement>('#notes')!;
}

import { ROOT } from './root.ts';

/** Polling interval without an event stream; a browser allows only six connections per host. */
const POLL_MS = 30_000;

/** Elements refreshed with the notes: the "no notes" hint and the page links. */
const BESIDE_NOTES = ['.nothing', 'nav.pages'];

/** Keeps the notes of this page up to date: a stream says when to fetch the page again (docs/contract.md, section 8). */
class LiveNotes {
  readonly #status = appendStatus();
  #stream: EventSource | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #refreshing: Promise<void> | undefined;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#listen());
    addEventListener('pagehide', () => this.#stop());
    addEventListener('online', () => this.#listen());
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted) this.#listen();
    });
    this.#listen();
  }

  /** Fetches this page and shows its notes. Calls during a refresh share one that begins after it. */
  async refresh(): Promise<void> {
    await this.#refreshing;
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** Opens a new stream, unless the page is hidden. */
  #listen(): void {
    this.#stop();
    if (document.visibilityState === 'hidden') return;
    const stream = new EventSource(`${eventsPath()}?since=${encodeURIComponent(versionOf(notes()))}`);
    this.#stream = stream;
    this.#poll();
    stream.addEventListener('open', () => clearInterval(this.#timer));
    stream.addEventListener('error', () => this.#poll());
    stream.addEventListener('changed', ({ lastEventId }) => {
      if (lastEventId !== versionOf(notes())) void this.refresh();
    });
  }

  /** Polls until the stream is open: it may be refused, or wait for a connection. */
  #poll(): void {
    clearInterval(this.#timer);
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#timer = setInterval(() => {
      void this.refresh();
      // A browser reconnects a lost stream, but not a refused one.
      if (stream.readyState === EventSource.CLOSED) this.#listen();
    }, POLL_MS);
  }

  #stop(): void {
    this.#stream?.close();
    this.#stream = undefined;
    clearInterval(this.#timer);
  }

  async #refresh(): Promise<void> {
    // `no-cache`, because public pages may be cached for a minute.
    const options: RequestInit = { cache: 'no-cache', headers: { Accept: 'text/html' } };
    const answer = await fetch(location.href, options).catch(() => undefined);
    if (!answer?.ok || answer.redirected) return this.#poll();
    if (this.#stream?.readyState === EventSource.OPEN) clearInterval(this.#timer);
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const fresh = page.querySelector<HTMLElement>('#notes');
    if (fresh === null || versionOf(fresh) === versionOf(notes())) return;
    const added = this.#show(document.adoptNode(fresh), page);
    if (added > 0)
      this.#status.textContent = added === 1 ? 'There is a new note.' : `There are ${added} new notes.`;
  }

  /** Returns how many notes are new. */
  #show(fresh: HTMLElement, page: Document): number {
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
    for (const selector of BESIDE_NOTES) document.querySelector(selector)?.remove();
    fresh.after(...BESIDE_NOTES.flatMap((selector) => page.querySelector(selector) ?? []));
    if (focused instanceof HTMLElement && focused.isConnected && focused !== document.body)
      focused.focus({ preventScroll: true });
    if (before.size === 0 && added > 0)
      for (const element of document.querySelectorAll('[data-empty-feed]')) element.remove();
    return added;
  }
}

function notes(): HTMLElement {
  return document.querySelector<HTMLElement>('#notes')!;
}

function versionOf({ dataset }: HTMLElement): string {
  return dataset.version ?? '';
}

/** Path of the event stream of this page's feed. */
function eventsPath(): string {
  const path = location.pathname.slice(ROOT.length).replace(/\/$/, '');
  return ROOT + (path.startsWith('/r/') ? `${path}/events` : `/api/v1/feeds${path}/events`);
}

function appendStatus(): HTMLElement {
  const element = document.createElement('p');
  element.role = 'status';
  element.className = 'unseen';
  document.body.append(element);
  return element;
}

/** The notes of this page; undefined if it shows none. */
export const liveNotes = document.querySelector('#notes') === null ? undefined : new LiveNotes();

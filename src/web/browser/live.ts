import { ROOT } from './root.ts';

/** How often a page asks while no event stream is to be had: a browser allows six connections to a host. */
const POLL_MS = 30_000;

/** What follows the notes and depends on them: that there are none, and the links to other pages. */
const BESIDE_NOTES = ['.nothing', 'nav.pages'];

/** Keeps the notes of this page as they are in the feed: a stream says when to ask again (docs/contract.md, section 8). */
class LiveNotes {
  readonly #status = statusElement();
  #stream: EventSource | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #asking: Promise<void> | undefined;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#follow());
    addEventListener('pagehide', () => this.#stop());
    addEventListener('online', () => this.#follow());
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted) this.#follow();
    });
    this.#follow();
  }

  /** Asks for this page and shows its notes; once at a time, and whoever asks meanwhile gets a later answer. */
  async refresh(): Promise<void> {
    await this.#asking;
    this.#asking ??= this.#refresh().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** Listens as long as somebody may be looking. */
  #follow(): void {
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

  /** Asks from time to time until the stream is open: it may be refused, or wait for one of the browser's connections. */
  #poll(): void {
    clearInterval(this.#timer);
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#timer = setInterval(() => {
      void this.refresh();
      // A connection that is lost is made again by the browser; a refused one is not.
      if (stream.readyState === EventSource.CLOSED) this.#follow();
    }, POLL_MS);
  }

  #stop(): void {
    this.#stream?.close();
    this.#stream = undefined;
    clearInterval(this.#timer);
  }

  async #refresh(): Promise<void> {
    // A browser may keep a public page for a minute: it has to ask whether that is still the one of now.
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

  /** @returns how many notes were not there before */
  #show(fresh: HTMLElement, page: Document): number {
    const shown = notes();
    const focused = document.activeElement;
    const before = new Map([...shown.querySelectorAll('article')].map((article) => [article.id, article]));
    let added = 0;
    for (const article of fresh.querySelectorAll('article')) {
      const same = before.get(article.id);
      if (same === undefined) added += 1;
      // What has not changed stays the same element: its pictures stay, and so do selection and focus.
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

/** The stream of the feed that this page shows. */
function eventsPath(): string {
  const path = location.pathname.slice(ROOT.length).replace(/\/$/, '');
  return ROOT + (path.startsWith('/r/') ? `${path}/events` : `/api/v1/feeds${path}/events`);
}

function statusElement(): HTMLElement {
  const element = document.createElement('p');
  element.setAttribute('role', 'status');
  element.className = 'unseen';
  document.body.append(element);
  return element;
}

/** The notes of this page; undefined where it shows none. */
export const liveNotes = document.querySelector('#notes') === null ? undefined : new LiveNotes();

import { find } from '../page/elements.ts';
import { freshPage } from '../page/fresh.ts';
import { NoteList, Part } from './note-list.ts';
import { keepTimes } from './times.ts';

// Keeps the notes of a page up to date: a stream says when to fetch the page again (docs/contract.md, section 8).

/** Polling interval without an event stream; a browser allows only six connections per host. */
const POLL_MS = 30_000;
/** A refresh that failed is tried again after so long, then after twice as long, until polling is as frequent. */
const RETRY_MS = 1000;
/** How long the service may be out of reach before the page says so. */
const LOST_MS = 60_000;
/** A reader who has scrolled at most so many pixels counts as at the top of the page. */
const TOP_PX = 8;

/** Event of the window: the service is in reach, perhaps again. */
export const REACHED = 'reached';

/** The notes of this page, and where they come from. */
let live: Live | undefined;

/**
 * Keeps a list of notes up to date while the page is shown. Call it before anything changes what the service sent.
 * @param element `#notes`
 */
export function follow(element: HTMLElement): NoteList {
  const list = new NoteList(element);
  keepTimes(element);
  live = new Live(list);
  live.start();
  return list;
}

/**
 * Shows this page as it is now. Calls during a refresh share one that begins after it.
 * @param takesNew false if new notes must wait to be asked for
 */
export async function refresh(takesNew = true): Promise<void> {
  await live?.refresh(takesNew);
}

class Live {
  readonly #list: NoteList;
  readonly #status: ListStatus;
  readonly #header = new Part(find(document, 'header.feed'));
  /** The event stream; undefined while the page is hidden. */
  #stream: EventSource | undefined;
  /** The version that the stream told of last; undefined while nothing was told since it opened. */
  #told: string | undefined;
  /** The last refresh failed, or brought another version than the stream has told of. */
  #isStale = false;
  /** How long after the next such refresh it is tried again, ms. */
  #retryMs = RETRY_MS;
  #refreshing: Promise<void> | undefined;
  #takesNew = false;
  /** The list with the notes that wait to be asked for. */
  #waiting: HTMLElement | undefined;
  /** When the page was last known to be up to date, ms since the epoch. */
  #knownAt = Date.now();
  /** When the service got out of reach, ms since the epoch. */
  #lostAt: number | undefined;

  constructor(list: NoteList) {
    this.#list = list;
    this.#status = new ListStatus(find(list.element, ':scope > .news'), () => this.#take());
  }

  start(): void {
    document.addEventListener('visibilitychange', () => this.#listen());
    addEventListener('pagehide', () => this.#stop());
    addEventListener('online', () => this.#listen());
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted) this.#listen();
    });
    this.#listen();
    setInterval(() => this.#check(), POLL_MS);
  }

  async refresh(takesNew: boolean): Promise<void> {
    this.#takesNew ||= takesNew;
    await this.#refreshing;
    this.#refreshing ??= this.#fetch().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** Polls while the stream is not open: it may be refused, or wait for a connection. */
  #check(): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    // Without a network a stream may look open for long.
    const isOpen = stream.readyState === EventSource.OPEN && navigator.onLine;
    if (isOpen && !this.#isStale) this.#setReached(true);
    else void this.refresh(false);
    // A browser reconnects a lost stream, but not a refused one.
    if (stream.readyState === EventSource.CLOSED) this.#listen();
  }

  /** Opens a new stream, unless the page is hidden. */
  #listen(): void {
    this.#stop();
    if (document.visibilityState === 'hidden') return;
    const { events, version = '' } = this.#list.element.dataset;
    this.#stream = new EventSource(`${events}?since=${encodeURIComponent(version)}`);
    this.#stream.addEventListener('open', () => {
      dispatchEvent(new Event(REACHED));
      if (this.#isStale) void this.refresh(false);
      else this.#setReached(true);
    });
    // What is told while there is no stream is not known.
    this.#stream.addEventListener('error', () => {
      this.#told = undefined;
    });
    this.#stream.addEventListener('changed', ({ lastEventId }) => {
      this.#told = lastEventId;
      if (lastEventId !== this.#list.element.dataset.version) void this.refresh(false);
      else this.#isStale = false;
    });
  }

  #stop(): void {
    this.#stream?.close();
    this.#stream = undefined;
    this.#told = undefined;
  }

  async #fetch(): Promise<void> {
    const takesNew = this.#takesNew;
    this.#takesNew = false;
    const { page } = await freshPage();
    const fresh = page?.querySelector<HTMLElement>('#notes');
    this.#setReached(fresh != null);
    // A container that has not heard of the change yet, or a cache in front, gives the page as it was.
    this.#isStale = !fresh || fresh.dataset.version !== (this.#told ?? fresh.dataset.version);
    if (this.#isStale) this.#retryLater();
    else this.#retryMs = RETRY_MS;
    if (!page || !fresh) return;
    if (!takesNew && fresh.dataset.version === this.#list.element.dataset.version) return;
    document.title = page.title;
    this.#header.follow(page);
    const wasEmpty = this.#list.notes.length === 0;
    this.#show(fresh, takesNew || (scrollY <= TOP_PX && !this.#list.isUsed));
    if (wasEmpty && this.#list.notes.length > 0)
      showFeedMade(page.querySelector<HTMLElement>('#compose')?.dataset.identity);
  }

  /** An open stream tells a change once, so the page would stay as it was until the next change. */
  #retryLater(): void {
    if (this.#retryMs >= POLL_MS) return;
    const retry = () => {
      if (this.#isStale && this.#stream !== undefined) void this.refresh(false);
    };
    setTimeout(retry, this.#retryMs);
    this.#retryMs *= 2;
  }

  #show(fresh: HTMLElement, takesNew: boolean): readonly HTMLElement[] {
    const { came, waiting } = this.#list.show(fresh, takesNew);
    this.#waiting = waiting > 0 ? fresh : undefined;
    this.#status.say(came.length, waiting);
    return came;
  }

  /** Shows the notes that waited, and leads to the newest. */
  #take(): void {
    if (this.#waiting === undefined) return;
    const [first] = this.#show(this.#waiting, true);
    first?.focus({ preventScroll: true });
    first?.scrollIntoView();
  }

  #setReached(isReached: boolean): void {
    if (isReached) {
      this.#knownAt = Date.now();
      this.#lostAt = undefined;
    } else this.#lostAt ??= Date.now();
    const isLost = this.#lostAt !== undefined && Date.now() - this.#lostAt >= LOST_MS;
    this.#status.setLost(isLost ? this.#knownAt : undefined);
  }
}

/** Messages above the list, which stay in view when it is scrolled: new notes have come or wait, or the service is out of reach. */
class ListStatus {
  readonly #button = document.createElement('button');
  readonly #came = document.createElement('span');
  readonly #lost = document.createElement('span');

  constructor(region: HTMLElement, take: () => void) {
    this.#button.type = 'button';
    this.#button.className = 'new';
    this.#button.hidden = true;
    this.#button.addEventListener('click', take);
    this.#came.className = 'unseen';
    this.#lost.className = 'lost';
    this.#lost.hidden = true;
    region.append(this.#lost, this.#button, this.#came);
  }

  say(came: number, waiting: number): void {
    this.#button.hidden = waiting === 0;
    this.#button.textContent = waiting === 0 ? '' : `${notes(waiting)} ↑`;
    if (came > 0) this.#came.textContent = `${notes(came)}.`;
  }

  /** @param since when the page was last up to date, ms since the epoch; undefined if it is now */
  setLost(since: number | undefined): void {
    this.#lost.hidden = since === undefined;
    const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
    const text = since === undefined ? '' : `Not up to date since ${clock.format(since)}`;
    if (this.#lost.textContent !== text) this.#lost.textContent = text;
  }
}

function notes(count: number): string {
  return count === 1 ? '1 new note' : `${count} new notes`;
}

/**
 * Makes the form of an empty page post to the feed that somebody else has made meanwhile, unless a password for a new feed was
 * typed into it.
 * @param identity of the feed as it is now
 */
function showFeedMade(identity = ''): void {
  const form = document.querySelector<HTMLElement>('#compose');
  if (form?.querySelector<HTMLInputElement>('[name=password]')?.value) return;
  if (form?.dataset.identity === '') form.dataset.identity = identity;
  for (const element of document.querySelectorAll('[data-empty-feed]')) element.remove();
}

import { find, onActions } from '../page/elements.ts';
import { feedOfPage, keepFeed, keptFeeds } from './feeds.ts';

// Keeps the feed of this page in the list of the start page, and asks whoever has made it to keep its address.

/** sessionStorage key: the feed that did not exist when this window opened its page. */
const MADE = 'feeds-made';

const name = feedOfPage();
const main = find<HTMLElement>(document, 'main');
/** This page has put its feed into the list. */
let isListed = false;

// A page without the box shows some of the notes, which may be none.
if (newest() === '' && document.querySelector('#compose') !== null) {
  write(name);
  // The first note may come without a new page.
  new MutationObserver((_, observer) => {
    if (newest() === '') return;
    observer.disconnect();
    keep();
  }).observe(main, { childList: true, subtree: true });
} else keep();
// Notes that have come meanwhile were seen, too.
addEventListener('pagehide', keep);
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') keep();
});

/** When the newest note of this page was posted, ISO 8601; empty without notes. */
function newest(): string {
  return main.querySelector('article .when time')?.getAttribute('datetime') ?? '';
}

/** A feed without notes is not kept, because it may not exist. Nor is one that was forgotten since, by a logout or in any window. */
function keep(): void {
  const seen = newest();
  if (seen === '' || (isListed && keptFeeds().every((feed) => feed.name !== name))) return;
  isListed = true;
  const title = find(main, 'h1').textContent!.trim();
  const isMade = read() === name;
  const { isNew } = keepFeed({ name, title, seen, ...(isMade && { isNew: true }) });
  const card = document.querySelector<HTMLElement>('#keep[hidden]');
  if (card === null || isNew !== true) return;
  card.hidden = false;
  // Whoever does not see the page hears of it as soon as a page is loaded and nobody uses anything in it yet.
  if (isMade && document.activeElement === document.body) {
    write('');
    card.focus();
  }
  onActions(card, {
    kept() {
      write('');
      keepFeed({ name, title, seen, isNew: false });
      card.hidden = true;
      main.focus();
    },
  });
}

function read(): string {
  try {
    return sessionStorage.getItem(MADE) ?? '';
  } catch {
    return '';
  }
}

function write(made: string): void {
  try {
    if (made === '') sessionStorage.removeItem(MADE);
    else sessionStorage.setItem(MADE, made);
  } catch {
    // Then the page does not ask.
  }
}

import './keeping/offline.ts';
import './copy.ts';
import './reachable.ts';
import { forgetMarked } from './keeping/drafts.ts';
import { showFeeds } from './keeping/feed-list.ts';
import { find } from './page/elements.ts';

// The deletion of a feed redirects to this page. Coming back to it later must not forget a feed whose deletion was refused meanwhile.
if (new URLSearchParams(location.search).has('deleted')) {
  forgetMarked();
  history.replaceState(null, '', location.pathname);
}

showFeeds(find<HTMLElement>(document, '#feeds'));

const feed = find<HTMLInputElement>(document, '#feed');
// Not while an input method composes, as the keyboards of phones do for each word: it would type again what it has typed.
feed.addEventListener('input', (event) => {
  if (!(event as InputEvent).isComposing) makeName();
});
feed.addEventListener('compositionend', makeName);

/** Changes what was typed into a valid name of a feed: in lower case, with hyphens for spaces. */
function makeName(): void {
  const { selectionStart, selectionEnd } = feed;
  feed.value = feed.value.toLowerCase().replaceAll(' ', '-');
  feed.setSelectionRange(selectionStart, selectionEnd);
}

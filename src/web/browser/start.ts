import './copy.ts';
import { forgetMarkedDraft } from './draft.ts';
import { find } from './elements.ts';

const feed = find<HTMLInputElement>(document, '#feed');

// Where the deletion of a feed leads to.
if (new URLSearchParams(location.search).has('deleted')) forgetMarkedDraft();

feed.addEventListener('input', () => {
  const { selectionStart, selectionEnd } = feed;
  feed.value = feed.value.toLowerCase().replaceAll(' ', '-');
  feed.setSelectionRange(selectionStart, selectionEnd);
});

import './copy.ts';
import { deleteMarkedDraft } from './draft.ts';

const feed = document.querySelector<HTMLInputElement>('#feed')!;

// The deletion of a feed redirects to this page.
if (new URLSearchParams(location.search).has('deleted')) deleteMarkedDraft();

feed.addEventListener('input', () => {
  const { selectionStart, selectionEnd } = feed;
  feed.value = feed.value.toLowerCase().replaceAll(' ', '-');
  feed.setSelectionRange(selectionStart, selectionEnd);
});

import { closest } from '../page/elements.ts';

// Opens the pictures of notes in full, over the page. Without this script they are links to their files.

/** Of notes that come later, too. */
document.addEventListener('click', async (event) => {
  const { target, button, altKey, ctrlKey, metaKey, shiftKey } = event;
  const link = closest<HTMLAnchorElement>(target, '.text a.picture[href]');
  if (link === null || event.defaultPrevented || button !== 0) return;
  if (altKey || ctrlKey || metaKey || shiftKey) return;
  event.preventDefault();
  try {
    const { showPicture } = await import('./picture-dialog.ts');
    showPicture(link);
  } catch {
    location.assign(link.href);
  }
});

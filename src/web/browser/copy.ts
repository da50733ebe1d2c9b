import { closest } from './page/elements.ts';
import { toast } from './page/toast.ts';

document.addEventListener('click', async ({ target }) => {
  const button = closest(target, '[data-copy]');
  if (!button) return;
  const isCopied = await copyText(document.getElementById(button.dataset.copy!)!);
  toast(isCopied ? 'Copied.' : 'The text is selected: press Ctrl+C or ⌘ C to copy it.');
});

/** Copies the text of an element. Without https the page may not, so the text is selected instead. */
async function copyText(source: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(source.textContent!);
    return true;
  } catch {
    source.hidden = false;
    getSelection()?.selectAllChildren(source);
    return document.execCommand('copy');
  }
}

const SHOWN_MS = 2_000;

document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element && target.closest<HTMLElement>('[data-copy]');
  if (!button || button.dataset.label !== undefined) return;
  const source = document.getElementById(button.dataset.copy!)!;
  const label = button.textContent!;
  button.dataset.label = label;
  button.textContent = (await copyText(source)) ? 'Copied' : 'Press Ctrl+C';
  button.setAttribute('aria-live', 'polite');
  setTimeout(() => {
    button.textContent = label;
    delete button.dataset.label;
  }, SHOWN_MS);
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

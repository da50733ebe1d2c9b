import { explain } from '../../words.ts';
import { find, onActions } from '../page/elements.ts';
import { forFeed, send, uploadStatus } from '../page/send.ts';
import { LEFT, takeDeletions } from '../reading/left-deletions.ts';

/** What the service did with a zip. */
interface Imported {
  readonly imported: number;
  readonly skipped: number;
  /** The first of those that were refused. */
  readonly refused: readonly { readonly file: string; readonly error: string; readonly code: string }[];
  readonly refused_count: number;
}

const root = find<HTMLElement>(document, '#import');
const { path = '', identity = '' } = root.dataset;
const input = find<HTMLInputElement>(root, 'input[type=file]');
const refusals = find<HTMLUListElement>(root, '.refused');
const button = find<HTMLButtonElement>(root, '[data-action=import]');
const status = uploadStatus(root, (isBusy) => {
  button.disabled = isBusy;
});

onActions(root, { import: () => input.click() });
input.addEventListener('change', async () => {
  const body = input.files?.[0];
  input.value = '';
  if (body === undefined) return;
  refusals.hidden = true;
  await status.run(async (signal, onProgress) => {
    const headers = { 'Content-Type': 'application/zip', ...forFeed(identity) };
    // The import may bring a deleted note back, even if its answer is lost. So earlier deletions are not tried again.
    takeDeletions(LEFT);
    return show(await send<Imported>({ method: 'POST', path, headers, body, signal, onProgress }));
  });
});

/** Lists what was refused; returns what was done. */
function show({ imported, skipped, refused, refused_count: count }: Imported): string {
  refusals.replaceChildren(
    ...refused.map(({ file, error, code }) => {
      const item = document.createElement('li');
      item.textContent = `${file}: ${explain({ code, message: error })}`;
      return item;
    }),
  );
  refusals.hidden = count === 0;
  const others = count === 0 ? '' : ` ${count} refused:`;
  return `${imported} imported, ${skipped} there already.${others}`;
}

import { closest } from '../page/elements.ts';
import { isComposed } from '../page/keys.ts';
import { UNREACHED } from '../page/send.ts';
import { toast } from '../page/toast.ts';
import type { Box } from './box.ts';

/** Starts writing on pages of a feed's writers. What it takes is loaded when the page is idle, or sooner if it is needed. */

let composing: Promise<Box> | undefined;
let isReady = false;

/** Lets notes be written in the box of the page, if it has one, be edited in place, and take files that are dropped anywhere. */
export function startWriting(): void {
  const form = document.querySelector<HTMLFormElement>('#compose');
  if (form !== null) {
    const open = () => {
      form.classList.add('open');
      void compose(form);
    };
    for (const event of ['focusin', 'pointerdown']) form.addEventListener(event, open);
    form.addEventListener('submit', (event) => event.preventDefault());
    // Clicks and keys before the box is loaded are repeated then; later the box listens itself.
    form.addEventListener('click', ({ target }) => {
      const button = closest(target, 'button');
      if (!isReady && button !== null) void compose(form).then((box) => box && button.click());
    });
    form.addEventListener('keydown', (event) => {
      const isCommand = event.key === 'Escape' || (event.key === 'Enter' && (event.ctrlKey || event.metaKey));
      if (isReady || !isCommand || isComposed(event)) return;
      void compose(form).then((box) => box?.form.dispatchEvent(new KeyboardEvent('keydown', event)));
    });
    addEventListener('beforeunload', (event) => {
      // Later the box asks itself.
      const isWritten = [...new FormData(form).values()].some((value) => value !== '');
      if (!isReady && isWritten) event.preventDefault();
    });
    whenIdle(() => void compose(form));
  }
  whenIdle(
    () =>
      void import('./writer.ts').then(
        ({ offerEdits }) => offerEdits(),
        () => {},
      ),
  );

  document.addEventListener('click', (event) => {
    const { target, ctrlKey, metaKey, shiftKey } = event;
    const link = closest<HTMLAnchorElement>(target, 'a.edit');
    const article = link?.closest('article');
    if (!link || !article || ctrlKey || metaKey || shiftKey) return;
    event.preventDefault();
    link.closest('details')?.removeAttribute('open');
    void import('./writer.ts').then(({ editNote }) => editNote(article, link.href), cannotLoad);
  });
  document.addEventListener('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
  });
  document.addEventListener('drop', (event) => {
    const { target, dataTransfer } = event;
    if (!dataTransfer?.files.length) return;
    // Even without a box a file must not take the place of the page.
    event.preventDefault();
    const files = [...dataTransfer.files];
    void takeFiles(form, target, files);
  });
}

async function takeFiles(
  form: HTMLFormElement | null,
  target: EventTarget | null,
  files: File[],
): Promise<void> {
  if (form !== null) await compose(form);
  const { boxFor } = await import('./writer.ts');
  const box = boxFor(target);
  if (box?.pictures) box.fill({ files });
  else toast('There is no box here that takes pictures.');
}

/** The box for new notes, once it is loaded; undefined if it cannot be. */
async function compose(form: HTMLFormElement): Promise<Box | undefined> {
  composing ??= import('./writer.ts').then(({ newNote }) => newNote(form));
  try {
    const box = await composing;
    isReady = true;
    return box;
  } catch {
    composing = undefined;
    cannotLoad();
    return undefined;
  }
}

function cannotLoad(): void {
  toast(UNREACHED);
}

/** Runs once the page is loaded and the browser is idle, so that it delays nothing that people see. */
function whenIdle(run: () => void): void {
  const wait = () =>
    'requestIdleCallback' in window ? requestIdleCallback(run, { timeout: 2_000 }) : setTimeout(run, 200);
  if (document.readyState === 'complete') wait();
  else addEventListener('load', wait, { once: true });
}

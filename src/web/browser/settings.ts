import './copy.ts';
import './keeping/offline.ts';
import './feed-settings/import.ts';
import './reading/share.ts';
import './feed-settings/title-image.ts';
import './reachable.ts';
import { saveInPlace } from './feed-settings/save-in-place.ts';
import { isUnsaved, storedValue } from './feed-settings/stored.ts';
import { forgetBefore, markFeed } from './keeping/drafts.ts';
import { holdWindow } from './keeping/window.ts';
import { find, sendOnce } from './page/elements.ts';
import { toast } from './page/toast.ts';

const draftKey = find<HTMLElement>(document, '[data-draft]').dataset.draft!;
/** The forms that were sent: leaving the page for them asks nothing. */
const sent = new Set<HTMLFormElement>();
/** The form that the dialog asks about. */
let asked: HTMLFormElement | undefined;

sendOnce(document);

// Reloading the page must not say again what was saved.
if (location.search !== '') history.replaceState(null, '', location.pathname + location.hash);

// The drafts of this window are not those of a window that is gone.
holdWindow().catch(() => {});

document.addEventListener('submit', (event) => {
  const { target: form, submitter } = event;
  if (!(form instanceof HTMLFormElement) || !(submitter instanceof HTMLButtonElement)) return;
  if (submitter.formMethod === 'dialog') return;
  const action = form.getAttribute('action')!;
  const fields = new FormData(form, submitter);
  const isOfReadId = fields.has('read_id');
  if (isOfReadId && !fields.has('sure')) {
    event.preventDefault();
    asked = form;
    askForNewLinks(String(fields.get('read_id')));
  } else if (action.endsWith('/details') && !isOfReadId) {
    event.preventDefault();
    void saveInPlace(form, submitter);
  }
  // A deletion may fail, so the feed is forgotten when it has succeeded.
  if (action.endsWith('/delete')) markFeed(draftKey);
});

// Listens at the window, because `reachable.ts`, whose listener comes first, may keep a form from being sent.
addEventListener('submit', (event) => {
  const button = event.submitter as HTMLButtonElement | null;
  if (event.defaultPrevented || button?.formMethod === 'dialog') return;
  const form = event.target as HTMLFormElement;
  sent.add(form);
  if (asked && form.closest('dialog')) sent.add(asked);
  if (button?.value !== 'lock') return;
  // A lock does not fail if the service can be reached, so drafts and waiting posts go at once.
  void forgetBefore(event, draftKey);
});

function askForNewLinks(readId: string): void {
  if (readId !== '' && readId === storedValue(document, 'read_id')) {
    toast('The read id is the same as before.');
    return;
  }
  const dialog = find<HTMLDialogElement>(document, '#change-links');
  find<HTMLInputElement>(dialog, '[name=read_id]').value = readId;
  dialog.showModal();
}

// What was typed and not saved would be lost without a word, and what is being sent would break off.
addEventListener('beforeunload', (event) => {
  const holdsMore = [...document.forms].some((form) => !sent.has(form) && isChanged(form));
  if (holdsMore || document.querySelector('[aria-busy=true]:not([data-listing])') !== null)
    event.preventDefault();
});

function isChanged(form: HTMLFormElement): boolean {
  return [...form.elements].some(
    (field) => field instanceof HTMLInputElement && field.type !== 'hidden' && isUnsaved(field),
  );
}

// The table of contents says which section is being read.
const links = new Map(
  [...document.querySelectorAll<HTMLAnchorElement>('.contents a')].map((link) => [link.hash.slice(1), link]),
);
const inView = new Set<string>();
const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) inView.add(target.id);
      else inView.delete(target.id);
    }
    const current = [...links.keys()].find((id) => inView.has(id));
    for (const [id, link] of links) link.ariaCurrent = id === current ? 'true' : null;
  },
  { rootMargin: '-10% 0px -50%' },
);
for (const id of links.keys()) observer.observe(document.getElementById(id)!);

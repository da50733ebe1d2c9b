import './copy.ts';
import { readDraft, writeDraft } from './draft.ts';
import { find, onActions, ROOT } from './elements.ts';
import { freshPage } from './fresh.ts';
import { refresh } from './live.ts';
import { noteForm, noteHeaders, submitOnEnter } from './note-form.ts';
import { forFeed, isRefused, RequestFailed, send, uploadStatus } from './send.ts';

const form = find<HTMLFormElement>(document, '#compose');
const { feed = '', draft: draftKey = '' } = form.dataset;
const title = find<HTMLInputElement>(form, '[name=title]');
const tags = find<HTMLInputElement>(form, '[name=tags]');
const status = uploadStatus(form);
const expires = find<HTMLSelectElement>(form, '[name=expires]');
const outdated = find<HTMLElement>(form, '.outdated');
const draft = readDraft(draftKey);
/** The form on the page as it is now, if another feed is there than the one that this page was made for. */
let fresh: HTMLFormElement | undefined;
const { text, pictures, updatePreview, content } = noteForm(form, feed, status.fail);

/** Fields that a draft keeps; not the password. */
const DRAFT_FIELDS = [text, title, tags];

for (const field of DRAFT_FIELDS) field.value = draft[field.name] ?? field.value;
updatePreview();
form.addEventListener('input', () => {
  writeDraft(draftKey, Object.fromEntries(DRAFT_FIELDS.map(({ name, value }) => [name, value])));
});

submitOnEnter(form);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const isBlank = text.value.trim() === '';
  const { body, hasPictures } = await content(!isBlank);
  if (isBlank && !hasPictures) {
    status.fail(pictures ? 'Write something, or add a picture.' : 'Write something.');
    text.focus();
    return;
  }
  const password = form.querySelector<HTMLInputElement>('[name=password]')?.value ?? '';
  const isPosted = await status.run(async (signal, onProgress) => {
    const headers = {
      ...noteHeaders(title.value, tags.value),
      ...(password !== '' && { 'X-Feed-Password': password }),
      ...(expires.value !== '' && { 'X-Note-Expires': expires.value }),
      ...forFeed(form.dataset.identity ?? ''),
    };
    outdated.hidden = true;
    try {
      await send({ method: 'POST', path: `${ROOT}/${feed}`, headers, body, signal, onProgress });
    } catch (error) {
      if (!isRefused(error, 'changed', 'auth')) throw error;
      if (!(await explainOutdated())) throw error;
      throw new RequestFailed('Nothing was posted.');
    }
    return 'Posted.';
  });
  if (!isPosted) return;
  form.reset();
  updatePreview();
  // Last, because a reset that removes pictures writes the draft.
  writeDraft(draftKey, {});
  // The page of a feed with notes has other parts than the page of an empty feed.
  if (document.querySelector('[data-empty-feed]') !== null) location.reload();
  else if (new URLSearchParams(location.search).size > 0) location.assign(location.pathname);
  else await refresh();
});

onActions(outdated, { renew });

/** Says what became of the feed that the page was made for; false if it is still that one. The text stays in the form. */
async function explainOutdated(): Promise<boolean> {
  const { page } = await freshPage();
  fresh = page?.querySelector<HTMLFormElement>('#compose') ?? undefined;
  if (fresh?.dataset.identity === form.dataset.identity) return false;
  const button = find<HTMLButtonElement>(outdated, 'button');
  const link = find<HTMLAnchorElement>(outdated, 'a');
  const [sentence, label] = explanation();
  find(outdated, 'p').textContent = `${sentence} What you wrote is still here.`;
  button.textContent = label;
  button.hidden = label === '';
  link.href = location.pathname;
  outdated.hidden = false;
  return true;
}

function explanation(): [sentence: string, label: string] {
  if (fresh === undefined)
    return ['You may not post to this feed now: it got a password, or you were logged out.', ''];
  if (fresh.dataset.identity === '')
    return ['This feed was deleted since you opened the page.', 'Make the feed anew'];
  const label = 'Post it to the feed as it is now';
  if (form.dataset.identity === '')
    return ['Somebody has made this feed since you opened the page, so it can get no password here.', label];
  return [
    'This is another feed than the one that the page showed: it was deleted and made again, or got another read link.',
    label,
  ];
}

/** Makes the form one for the feed as it is now. A feed to be made may get a password first. */
function renew(): void {
  form.dataset.identity = fresh?.dataset.identity ?? '';
  form.querySelector('[data-empty-feed]')?.remove();
  outdated.hidden = true;
  status.fail('');
  const protection = fresh?.querySelector('[data-empty-feed]');
  if (protection) {
    find(form, '.primary').parentElement!.before(protection);
    find<HTMLInputElement>(form, '[name=password]').focus();
  } else form.requestSubmit();
}

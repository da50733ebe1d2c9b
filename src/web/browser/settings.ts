import './copy.ts';
import { Draft, markDraft } from './draft.ts';
import { bytesText, find, onActions } from './elements.ts';
import { ROOT } from './root.ts';
import { NotDone, type Sent, send, sendJson } from './send.ts';
import { Sending } from './sending.ts';
import { prepared } from './shrink.ts';

const draftKey = find<HTMLElement>(document, '[data-draft]').dataset.draft!;

document.addEventListener('submit', ({ target, submitter }) => {
  if (!(target instanceof HTMLFormElement)) return;
  // A lock never fails; a deletion may, so only its end forgets the draft.
  if (submitter instanceof HTMLButtonElement && submitter.value === 'lock') new Draft(draftKey).forget();
  if (target.getAttribute('action')?.endsWith('/delete')) markDraft(draftKey);
});

const root = find<HTMLElement>(document, '#title-image');
const { feed = '', title = '', description = '', shrink, largest } = root.dataset;
const api = `${ROOT}/api/v1/feeds/${feed}`;
const input = find<HTMLInputElement>(root, 'input[type=file]');
const picks = find<HTMLUListElement>(root, '.picks');
const pickButton = find<HTMLButtonElement>(root, '[data-action=pick]');
const sending = new Sending(root);

interface NoteList {
  readonly notes: readonly {
    file: string;
    type: string;
    title: string;
    alt?: string;
    file_url?: string | null;
  }[];
  readonly next: string | null;
}

for (const button of root.querySelectorAll<HTMLButtonElement>('.actions button')) button.disabled = false;
onActions(root, {
  choose: () => input.click(),
  remove: () => void change(''),
  pick: () => {
    picks.hidden = !picks.hidden;
    pickButton.setAttribute('aria-expanded', String(!picks.hidden));
    if (!picks.hidden && picks.childElementCount === 0) void sending.run((signal) => listPictures(signal));
  },
});
picks.addEventListener('click', ({ target }) => {
  const file = target instanceof Element && target.closest<HTMLElement>('[data-file]')?.dataset.file;
  if (file) void change(file);
});
input.addEventListener('change', async () => {
  const file = input.files?.[0];
  input.value = '';
  if (file === undefined) return;
  const limits = { shrink: Number(shrink), largest: Number(largest) };
  const picture = await prepared(file, limits, { keepsType: false });
  if (
    picture.holdsPosition &&
    !confirm('This picture says where it was taken, and it will be public. Use it?')
  )
    return;
  const isDone = await sending.run((signal, onProgress) => upload(picture.file, signal, onProgress));
  if (isDone) location.reload();
});

/** Posts a picture to the feed, and makes it the title image. */
async function upload(
  picture: Blob,
  signal: AbortSignal,
  onProgress: NonNullable<Sent['onProgress']>,
): Promise<string> {
  if (picture.size > Number(largest))
    throw new NotDone(`A picture may have at most ${bytesText(Number(largest))}.`, 0);
  const headers = { 'Content-Type': picture.type };
  const path = `${ROOT}/${feed}`;
  const { file } = await send<{ file: string }>({
    method: 'POST',
    path,
    headers,
    body: picture,
    signal,
    onProgress,
  });
  return setImage(file, signal);
}

async function change(file: string): Promise<void> {
  if (await sending.run((signal) => setImage(file, signal))) location.reload();
}

async function setImage(image: string, signal: AbortSignal): Promise<string> {
  await sendJson('PUT', api, { title, description, image }, signal);
  return 'Saved.';
}

/** Shows the pictures of the feed, each a button that chooses it. */
async function listPictures(signal: AbortSignal): Promise<string> {
  for (let before = ''; ; ) {
    const path = `${api}/notes?limit=100&before=${encodeURIComponent(before)}`;
    const { notes, next } = await send<NoteList>({ method: 'GET', path, signal });
    picks.append(...notes.filter(({ type }) => type.startsWith('image/')).map(pickOf));
    if (next === null) break;
    before = next;
  }
  if (picks.childElementCount === 0) return 'This feed has no pictures yet.';
  find<HTMLElement>(picks, 'button').focus();
  return '';
}

function pickOf({ file, title, alt, file_url }: NoteList['notes'][number]): HTMLLIElement {
  const item = document.createElement('li');
  const button = document.createElement('button');
  const image = document.createElement('img');
  button.type = 'button';
  button.dataset.file = file;
  button.append(image);
  image.src = file_url ?? '';
  image.alt = alt || title || file;
  image.width = 96;
  image.height = 96;
  image.loading = 'lazy';
  item.append(button);
  return item;
}

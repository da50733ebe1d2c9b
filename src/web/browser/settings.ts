import './copy.ts';
import './import.ts';
import { markDraft, writeDraft } from './draft.ts';
import { find, onActions, ROOT } from './elements.ts';
import { forFeed, isRefused, RequestFailed, send, sendForEtag, uploadStatus } from './send.ts';
import { preparePicture } from './shrink.ts';
import { bytesText } from './text.ts';

const draftKey = find<HTMLElement>(document, '[data-draft]').dataset.draft!;

document.addEventListener('submit', ({ target, submitter }) => {
  if (!(target instanceof HTMLFormElement)) return;
  // Locking never fails. A deletion may, so the draft goes when it has succeeded.
  if (submitter instanceof HTMLButtonElement && submitter.value === 'lock') writeDraft(draftKey, {});
  if (target.getAttribute('action')?.endsWith('/delete')) markDraft(draftKey);
});

const root = find<HTMLElement>(document, '#title-image');
const { feed = '', identity = '', shrink, largest } = root.dataset;
const api = `${ROOT}/api/v1/feeds/${feed}`;
const input = find<HTMLInputElement>(root, 'input[type=file]');
const picks = find<HTMLUListElement>(root, '.picks');
const pickButton = find<HTMLButtonElement>(root, '[data-action=pick]');
const status = uploadStatus(root);
/** How often a change may meet another one. */
const MAX_ATTEMPTS = 5;
type Upload = Parameters<typeof status.run>[0];

interface ListedNote {
  readonly file: string;
  readonly type: string;
  readonly title: string;
  readonly alt?: string;
  readonly file_url?: string | null;
}

onActions(root, {
  choose: () => input.click(),
  remove: () => void setImage(async () => ''),
  pick: () => {
    picks.hidden = !picks.hidden;
    pickButton.setAttribute('aria-expanded', String(!picks.hidden));
    if (!picks.hidden && picks.childElementCount === 0) void status.run(listPictures);
  },
});
picks.addEventListener('click', ({ target }) => {
  const file = target instanceof Element && target.closest<HTMLElement>('[data-file]')?.dataset.file;
  if (file) void setImage(async () => file);
});
input.addEventListener('change', async () => {
  const chosen = input.files?.[0];
  input.value = '';
  if (chosen === undefined) return;
  const { file, holdsPosition } = await preparePicture(chosen, Number(shrink), false);
  const question = 'This picture says where it was taken, and it will be public. Use it?';
  if (holdsPosition && !confirm(question)) return;
  await setImage((signal, onProgress) => post(file, signal, onProgress));
});

/** @param upload returns the file of the feed that becomes the title image; empty for none */
async function setImage(upload: Upload): Promise<void> {
  const isSaved = await status.run(async (signal, onProgress) => {
    const image = await upload(signal, onProgress);
    await change({ image }, signal);
    return 'Saved.';
  });
  if (isSaved) location.reload();
}

/**
 * Changes these members of the feed's record. The API also requires title and description, so they are fetched first and sent
 * unchanged.
 */
async function change(changes: object, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const record = await sendForEtag<Record<string, unknown>>({ method: 'GET', path: api, signal });
    const { title, description } = record.json;
    const headers = { 'If-Match': record.etag };
    try {
      return await send({
        method: 'PUT',
        path: api,
        json: { title, description, ...changes },
        headers,
        signal,
      });
    } catch (error) {
      if (!isRefused(error, 'changed') || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Posts a picture to the feed; returns its file. */
async function post(body: Blob, ...[signal, onProgress]: Parameters<Upload>): Promise<string> {
  if (body.size > Number(largest))
    throw new RequestFailed(`A picture may have at most ${bytesText(Number(largest))}.`);
  const headers = { 'Content-Type': body.type, ...forFeed(identity) };
  const request = { method: 'POST', path: `${ROOT}/${feed}`, headers, body, signal, onProgress } as const;
  return (await send<{ file: string }>(request)).file;
}

/** Shows the pictures of the feed as buttons. */
async function listPictures(signal: AbortSignal): Promise<string> {
  for (let before: string | null = ''; before !== null; ) {
    const path: string = `${api}/notes?limit=100&before=${encodeURIComponent(before)}`;
    const page: { notes: ListedNote[]; next: string | null } = await send({ method: 'GET', path, signal });
    picks.append(...page.notes.filter(({ type }) => type.startsWith('image/')).map(pickOf));
    before = page.next;
  }
  if (picks.childElementCount === 0) return 'This feed has no pictures yet.';
  find<HTMLElement>(picks, 'button').focus();
  return '';
}

function pickOf({ file, title, alt, file_url }: ListedNote): Node {
  const item = find<HTMLTemplateElement>(root, 'template').content.cloneNode(true) as DocumentFragment;
  find<HTMLElement>(item, 'button').dataset.file = file;
  const image = find<HTMLImageElement>(item, 'img');
  image.src = file_url ?? '';
  image.alt = alt || title || file;
  return item;
}

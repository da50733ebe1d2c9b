import { closest, find, onActions, ROOT } from '../page/elements.ts';
import { RequestFailed, send, uploadStatus } from '../page/send.ts';
import { bytesText } from '../page/text.ts';
import { toast } from '../page/toast.ts';
import { post } from '../writing/post.ts';
import { preparePicture } from '../writing/shrink.ts';

// The title image of a feed, on its settings page.

const root = find<HTMLElement>(document, '#image');
const { feed = '', identity = '', shrink, largest } = root.dataset;
const api = `${ROOT}/api/v1/feeds/${feed}`;
const input = find<HTMLInputElement>(root, 'input[type=file]');
const preview = find<HTMLElement>(root, '.preview');
const picks = find<HTMLUListElement>(root, '.picks');
const pickButton = find<HTMLButtonElement>(root, '[data-action=pick]');
const removeButton = find<HTMLButtonElement>(root, '[data-action=remove]');
/** The `Idempotency-Key` of each picture that was sent and is not set yet, by the hash of its bytes, so that it is not posted twice. */
const keys = new Map<string, string>();
const mayUpload = root.querySelector('[data-action=choose]') !== null;
const status = uploadStatus(root);
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
    showPicks(picks.hidden !== false);
    if (!picks.hidden && picks.childElementCount === 0) void showPictures();
  },
});
picks.addEventListener('click', ({ target }) => {
  const file = closest(target, '[data-file]')?.dataset.file;
  if (file) void setImage(async () => file);
});
input.addEventListener('change', () => {
  void choose(input.files?.[0]);
  input.value = '';
});
for (const type of ['dragover', 'dragleave', 'drop'] as const)
  root.addEventListener(type, (event) => {
    if (!mayUpload || !event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    root.classList.toggle('over', type === 'dragover');
    if (type === 'drop') void choose(event.dataTransfer.files[0]);
  });

async function choose(chosen: File | undefined): Promise<void> {
  if (chosen === undefined) return;
  const { file, holdsPosition } = await preparePicture(chosen, Number(shrink), false);
  const question = 'This picture says where it was taken, and it will be public. Use it?';
  if (holdsPosition && !confirm(question)) return;
  const hash = await hashOf(file);
  await setImage((signal, onProgress) => postPicture(file, hash, signal, onProgress), hash);
}

/**
 * Changes the title image alone. The page stays, because its other fields may hold what is not saved yet.
 * @param upload returns the file of the feed that becomes the title image; empty for none
 * @param hash of the picture that is posted for it
 */
async function setImage(upload: Upload, hash = ''): Promise<void> {
  await status.run(async (signal, onProgress) => {
    const image = await upload(signal, onProgress);
    const request = { method: 'PATCH', path: api, json: { image }, signal } as const;
    const { image_url } = await send<{ image_url: string | null }>(request);
    keys.delete(hash);
    show(image_url);
    return '';
  });
}

function show(url: string | null): void {
  const shown = find<HTMLTemplateElement>(root, 'template.shown').content.cloneNode(true) as DocumentFragment;
  if (url === null) preview.replaceChildren();
  else {
    find<HTMLImageElement>(shown, 'img').src = url;
    preview.replaceChildren(shown);
  }
  // What had the focus may be gone now.
  if (!picks.hidden || url === null) pickButton.focus();
  showPicks(false);
  removeButton.hidden = url === null;
  toast(url === null ? 'The title image is removed.' : 'The title image is saved.');
}

function showPicks(isShown: boolean): void {
  picks.hidden = !isShown;
  pickButton.setAttribute('aria-expanded', String(isShown));
}

/** Posts a picture to the feed; returns its file. */
async function postPicture(
  body: Blob,
  hash: string,
  ...[signal, onProgress]: Parameters<Upload>
): Promise<string> {
  if (body.size > Number(largest))
    throw new RequestFailed(`A picture may have at most ${bytesText(Number(largest))}.`);
  const key = keys.get(hash) ?? crypto.randomUUID?.();
  if (hash !== '') keys.set(hash, key);
  const headers = {
    'Content-Type': body.type,
    'X-Note-Unlisted': '1',
    ...(hash !== '' && { 'Idempotency-Key': key }),
  };
  const { file } = await post({ feed, identity, headers, body }, { signal, onProgress });
  // It is one more to pick.
  picks.replaceChildren();
  return file;
}

/** Empty where there is none: without https, but for localhost. */
async function hashOf(body: Blob): Promise<string> {
  if (crypto.subtle === undefined) return '';
  return String(new Uint8Array(await crypto.subtle.digest('SHA-256', await body.arrayBuffer())));
}

/** Shows all pictures, or none: a part would look like all of them. */
async function showPictures(): Promise<void> {
  // Leaving the page meanwhile breaks nothing off.
  root.toggleAttribute('data-listing', true);
  const isListed = await status.run(listPictures);
  root.removeAttribute('data-listing');
  if (isListed) return;
  picks.replaceChildren();
  showPicks(false);
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

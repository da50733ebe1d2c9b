/** Where the picture is shown; it scrolls if the picture is larger. */
const stage = document.createElement('div');
const image = document.createElement('img');
const caption = document.createElement('p');
const close = button('Close', 'close', '×', () => dialog.close());
const zoom = button('Full size', 'zoom', '⤢', () => setFull(!isFull()));
const steps = [
  button('Previous picture', 'previous', '‹', () => step(-1)),
  button('Next picture', 'next', '›', () => step(1)),
];
const dialog = makeDialog();

/** The pictures of a note, and which of them is shown. */
let links: readonly HTMLAnchorElement[] = [];
let shown = 0;

/** Opens the picture of a link in full size. Arrow keys show the other pictures of its note. */
export function showPicture(link: HTMLAnchorElement): void {
  links = [...(link.closest('.text')?.querySelectorAll<HTMLAnchorElement>('a.picture[href]') ?? [link])];
  for (const one of steps) one.hidden = links.length < 2;
  show(links.indexOf(link));
  dialog.showModal();
  close.focus();
}

function show(number: number): void {
  shown = number;
  const source = links[shown]!.querySelector('img')!;
  // In a preview, the link of a picture that is not posted yet has no file to show.
  image.src = source.src;
  image.alt = source.alt;
  caption.textContent = links.length > 1 ? `${source.alt} (${shown + 1} of ${links.length})` : source.alt;
  setFull(false);
}

function step(by: number): void {
  show((shown + by + links.length) % links.length);
}

function isFull(): boolean {
  return zoom.ariaPressed === 'true';
}

function setFull(whole: boolean): void {
  zoom.ariaPressed = String(whole);
  dialog.classList.toggle('full', whole);
  stage.tabIndex = whole ? 0 : -1;
  if (whole) stage.focus();
}

function makeDialog(): HTMLDialogElement {
  const made = document.createElement('dialog');
  made.className = 'lightbox';
  made.ariaLabel = 'Picture';
  stage.className = 'stage';
  stage.role = 'group';
  stage.ariaLabel = 'The picture in full size';
  stage.append(image);
  // Said when another picture is shown.
  caption.ariaLive = 'polite';
  caption.dir = 'auto';
  made.append(close, zoom, stage, ...steps, caption);
  document.body.append(made);
  image.addEventListener('load', () => {
    zoom.hidden = image.naturalWidth <= image.clientWidth && image.naturalHeight <= image.clientHeight;
  });
  stage.addEventListener('click', ({ target }) => {
    if (target === image) setFull(!isFull() && !zoom.hidden);
    else made.close();
  });
  made.addEventListener('keydown', ({ key, altKey, ctrlKey, metaKey }) => {
    // In full size, arrows scroll.
    if (isFull() || links.length < 2 || altKey || ctrlKey || metaKey) return;
    if (key === 'ArrowLeft') step(-1);
    if (key === 'ArrowRight') step(1);
  });
  made.addEventListener('close', focusLink);
  return made;
}

/** The note may have been replaced meanwhile. */
function focusLink(): void {
  const link = links[shown]!;
  const now = document.querySelector<HTMLElement>(`a.picture[href="${CSS.escape(link.href)}"]`);
  (link.isConnected ? link : now)?.focus();
  image.removeAttribute('src');
}

function button(name: string, place: string, sign: string, act: () => void): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.className = `tool ${place}`;
  made.ariaLabel = name;
  made.title = name;
  made.textContent = sign;
  made.addEventListener('click', act);
  return made;
}

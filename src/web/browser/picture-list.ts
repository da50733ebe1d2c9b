import { find, onActions } from './elements.ts';
import { pictureReference, sendableName } from './file-name.ts';
import { POSITION_WARNING, type PreparedPicture, preparePicture, withoutMetadata } from './shrink.ts';
import { bytesText } from './text.ts';

interface Attachment {
  readonly item: HTMLLIElement;
  readonly name: string;
  readonly alt: HTMLInputElement;
  picture: PreparedPicture;
  url: string;
}

/**
 * The pictures of a form, which are chosen, pasted or dropped, and sent with its text.
 * @param explain shows why a picture is refused
 */
export function pictureList(form: HTMLFormElement, explain: (sentence: string) => void) {
  const root = find<HTMLElement>(form, '.pictures');
  const text = find<HTMLTextAreaElement>(form, 'textarea');
  const addButton = find<HTMLButtonElement>(root, '[data-action=add]');
  const input = find<HTMLInputElement>(root, 'input[type=file]');
  const [shrink, largest] = [Number(root.dataset.shrink), Number(root.dataset.largest)];
  let attachments: Attachment[] = [];
  /** Settles when all pictures that were added are prepared, one after the other. */
  let ready: Promise<void> = Promise.resolve();

  addButton.disabled = false;
  addButton.addEventListener('click', () => input.click());
  input.addEventListener('change', () => {
    add(input.files);
    input.value = '';
  });
  form.addEventListener('paste', (event) => {
    const { clipboardData } = event;
    // Office programs add a picture of the text to a copied text.
    if (!clipboardData?.files.length || clipboardData.getData('text/plain') !== '') return;
    event.preventDefault();
    add(clipboardData.files);
  });
  form.addEventListener('dragover', (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    form.classList.add('dropping');
  });
  for (const end of ['dragleave', 'dragend', 'drop'])
    form.addEventListener(end, () => form.classList.remove('dropping'));
  form.addEventListener('drop', (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    add(event.dataTransfer.files);
  });
  form.addEventListener('reset', () => attachments.forEach(remove));

  function add(files: FileList | null): void {
    explain('');
    for (const file of files ?? [])
      ready = ready.then(() => addOne(file)).catch(() => explain(`${file.name} cannot be read.`));
  }

  async function addOne(chosen: File): Promise<void> {
    if (!input.accept.split(',').includes(chosen.type))
      return explain(`${chosen.name}: a picture must be a PNG, JPEG, GIF or WebP.`);
    const picture = await preparePicture(chosen, shrink, false);
    const { size, type } = picture.file;
    if (size > largest)
      return explain(
        `${chosen.name} has ${bytesText(size)}; a picture may have at most ${bytesText(largest)}.`,
      );
    const usedNames = attachments.map(({ name }) => name);
    // Only a picture that was drawn again may have another type: PNG or WebP.
    const extension = type === chosen.type ? undefined : type.split('/')[1];
    const name = sendableName(chosen.name, usedNames, extension);
    const template = find<HTMLTemplateElement>(root, 'template');
    const item = find<HTMLLIElement>(template.content, 'li').cloneNode(true) as HTMLLIElement;
    const attachment: Attachment = { item, name, alt: find(item, 'input'), picture, url: '' };
    for (const button of item.querySelectorAll('button'))
      button.setAttribute('aria-label', `${button.textContent}: ${name}`);
    const shrunk = picture.file === chosen ? '' : `shrunk from ${bytesText(chosen.size)} to `;
    find(item, '.file').textContent = `${name} · ${shrunk}${bytesText(size)}`;
    onActions(item, {
      insert: () => insert(attachment),
      clean: () => void removePosition(attachment),
      remove() {
        remove(attachment);
        addButton.focus();
      },
    });
    attachments.push(attachment);
    find(root, 'ul').append(item);
    show(attachment, picture);
    changed();
  }

  /** Shows a picture, with a warning if it says where it was taken, because it will be public. */
  function show(attachment: Attachment, picture: PreparedPicture): void {
    const { item } = attachment;
    URL.revokeObjectURL(attachment.url);
    attachment.picture = picture;
    attachment.url = URL.createObjectURL(picture.file);
    find<HTMLImageElement>(item, 'img').src = attachment.url;
    find<HTMLButtonElement>(item, '[data-action=clean]').hidden = !picture.holdsPosition;
    find(item, '.notice').textContent = picture.holdsPosition ? POSITION_WARNING : '';
  }

  async function removePosition(attachment: Attachment): Promise<void> {
    const notice = find(attachment.item, '.notice');
    try {
      show(attachment, { file: await withoutMetadata(attachment.picture.file), holdsPosition: false });
    } catch {
      notice.textContent = 'The position cannot be removed in this browser.';
      return;
    }
    notice.textContent = 'The position is removed.';
    attachment.alt.focus();
    changed();
  }

  function insert({ name, alt }: Attachment): void {
    const { selectionStart, selectionEnd } = text;
    const before = text.value.slice(0, selectionStart);
    const space = before === '' || before.endsWith('\n') ? '' : '\n\n';
    text.setRangeText(space + pictureReference(name, alt.value), selectionStart, selectionEnd, 'end');
    text.focus();
    changed();
  }

  function remove(attachment: Attachment): void {
    attachments = attachments.filter((other) => other !== attachment);
    attachment.item.remove();
    URL.revokeObjectURL(attachment.url);
    changed();
  }

  /** The preview shows the pictures that the text refers to. */
  function changed(): void {
    text.dispatchEvent(new Event('input', { bubbles: true }));
  }

  return {
    /** Appends the pictures, once they are prepared, to the body of a request. Returns whether there are any. */
    async appendTo(body: FormData): Promise<boolean> {
      await ready;
      for (const { name, picture, alt } of attachments) {
        body.append('file', picture.file, name);
        if (alt.value.trim() !== '') body.append(`alt.${name}`, alt.value);
      }
      return attachments.length > 0;
    },
    /** Object URL of the picture of that name. */
    urlOf: (name: string) => attachments.find((attachment) => attachment.name === name)?.url,
  };
}

import { find, onActions } from './elements.ts';
import { pictureReference, sendableName } from './file-name.ts';
import type { UploadStatus } from './send.ts';
import { POSITION_WARNING, type PreparedPicture, preparePicture, withoutMetadata } from './shrink.ts';
import { bytesText } from './text.ts';

interface Attachment {
  readonly item: HTMLLIElement;
  readonly name: string;
  readonly alt: HTMLInputElement;
  picture: PreparedPicture;
  url: string;
}

/** The pictures of a form, which are sent with its text. */
export class PictureList {
  readonly #form: HTMLFormElement;
  readonly #root: HTMLElement;
  readonly #text: HTMLTextAreaElement;
  readonly #addButton: HTMLButtonElement;
  readonly #input: HTMLInputElement;
  readonly #status: UploadStatus;
  #attachments: Attachment[] = [];
  /** Settles when all pictures that were added are prepared, one after the other. */
  #ready: Promise<void> = Promise.resolve();

  /** @param status shows why a picture is refused */
  constructor(form: HTMLFormElement, status: UploadStatus) {
    this.#form = form;
    this.#root = find(form, '.pictures');
    this.#text = find(form, 'textarea');
    this.#addButton = find(this.#root, '[data-action=add]');
    this.#input = find(this.#root, 'input[type=file]');
    this.#status = status;
    this.#takeChosen();
    this.#takePasted();
    this.#takeDropped();
    form.addEventListener('reset', () => {
      for (const attachment of this.#attachments) this.#remove(attachment);
    });
  }

  /** Appends the pictures, once they are prepared, to the body of a request. Returns whether there are any. */
  async appendTo(body: FormData): Promise<boolean> {
    await this.#ready;
    for (const { name, picture, alt } of this.#attachments) {
      body.append('file', picture.file, name);
      if (alt.value.trim() !== '') body.append(`alt.${name}`, alt.value);
    }
    return this.#attachments.length > 0;
  }

  /** Object URL of the picture of that name. */
  urlOf(name: string): string | undefined {
    return this.#attachments.find((attachment) => attachment.name === name)?.url;
  }

  #takeChosen(): void {
    const input = this.#input;
    this.#addButton.disabled = false;
    this.#addButton.addEventListener('click', () => input.click());
    input.addEventListener('change', () => {
      this.#add(input.files);
      input.value = '';
    });
  }

  #takePasted(): void {
    this.#form.addEventListener('paste', (event) => {
      const { clipboardData } = event;
      // Office programs add a picture of the text to a copied text.
      if (!clipboardData?.files.length || clipboardData.getData('text/plain') !== '') return;
      event.preventDefault();
      this.#add(clipboardData.files);
    });
  }

  #takeDropped(): void {
    const { classList } = this.#form;
    this.#form.addEventListener('dragover', (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      classList.add('dropping');
    });
    for (const end of ['dragleave', 'dragend', 'drop'])
      this.#form.addEventListener(end, () => classList.remove('dropping'));
    this.#form.addEventListener('drop', (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.#add(event.dataTransfer.files);
    });
  }

  #add(files: FileList | null): void {
    this.#status.fail('');
    for (const file of files ?? []) {
      this.#ready = this.#ready
        .then(() => this.#addOne(file))
        .catch(() => this.#status.fail(`${file.name} cannot be read.`));
    }
  }

  async #addOne(file: File): Promise<void> {
    if (!this.#input.accept.split(',').includes(file.type))
      return this.#status.fail(`${file.name}: a picture must be a PNG, JPEG, GIF or WebP.`);
    const { shrink, largest } = this.#root.dataset;
    const picture = await preparePicture(file, Number(shrink), false);
    const { size, type } = picture.file;
    if (size > Number(largest))
      return this.#status.fail(
        `${file.name} has ${bytesText(size)}; a picture may have at most ${bytesText(Number(largest))}.`,
      );
    const usedNames = this.#attachments.map(({ name }) => name);
    // Only a picture that was drawn again may have another type: PNG or WebP.
    const extension = type === file.type ? undefined : type.split('/')[1];
    this.#append(sendableName(file.name, usedNames, extension), picture, file);
    this.#changed();
  }

  #append(name: string, picture: PreparedPicture, chosen: File): void {
    const template = find<HTMLTemplateElement>(this.#root, 'template');
    const item = find<HTMLLIElement>(template.content, 'li').cloneNode(true) as HTMLLIElement;
    const attachment: Attachment = { item, name, alt: find(item, 'input'), picture, url: '' };
    for (const button of item.querySelectorAll('button'))
      button.setAttribute('aria-label', `${button.textContent}: ${name}`);
    const size = bytesText(picture.file.size);
    const shrunk = picture.file === chosen ? '' : `shrunk from ${bytesText(chosen.size)} to `;
    find(item, '.file').textContent = `${name} · ${shrunk}${size}`;
    onActions(item, {
      insert: () => this.#insert(attachment),
      clean: () => void this.#removePosition(attachment),
      remove: () => {
        this.#remove(attachment);
        this.#addButton.focus();
      },
    });
    this.#attachments.push(attachment);
    find(this.#root, 'ul').append(item);
    this.#setPicture(attachment, picture);
  }

  /** Shows a picture, with a warning if it says where it was taken, because it will be public. */
  #setPicture(attachment: Attachment, picture: PreparedPicture): void {
    const { item } = attachment;
    URL.revokeObjectURL(attachment.url);
    attachment.picture = picture;
    attachment.url = URL.createObjectURL(picture.file);
    find<HTMLImageElement>(item, 'img').src = attachment.url;
    find<HTMLButtonElement>(item, '[data-action=clean]').hidden = !picture.holdsPosition;
    find(item, '.notice').textContent = picture.holdsPosition ? POSITION_WARNING : '';
  }

  async #removePosition(attachment: Attachment): Promise<void> {
    const { item, picture } = attachment;
    const notice = find(item, '.notice');
    try {
      const file = await withoutMetadata(picture.file);
      this.#setPicture(attachment, { ...picture, file, holdsPosition: false });
    } catch {
      notice.textContent = 'The position cannot be removed in this browser.';
      return;
    }
    notice.textContent = 'The position is removed.';
    attachment.alt.focus();
    this.#changed();
  }

  #insert({ name, alt }: Attachment): void {
    const { selectionStart, selectionEnd } = this.#text;
    const before = this.#text.value.slice(0, selectionStart);
    const space = before === '' || before.endsWith('\n') ? '' : '\n\n';
    this.#text.setRangeText(space + pictureReference(name, alt.value), selectionStart, selectionEnd, 'end');
    this.#text.focus();
    this.#changed();
  }

  #remove(attachment: Attachment): void {
    this.#attachments = this.#attachments.filter((other) => other !== attachment);
    attachment.item.remove();
    URL.revokeObjectURL(attachment.url);
    this.#changed();
  }

  /** The preview shows the pictures that the text refers to. */
  #changed(): void {
    this.#text.dispatchEvent(new Event('input', { bubbles: true }));
  }
}

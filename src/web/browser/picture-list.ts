import { bytesText, find } from './elements.ts';
import { pictureReference, sendableName } from './file-name.ts';
import { type PreparedPicture, prepared, withoutMetadata } from './shrink.ts';

const TYPES: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
};

interface Attachment {
  readonly item: HTMLLIElement;
  readonly name: string;
  readonly alt: HTMLInputElement;
  picture: PreparedPicture;
  url: string;
}

/** The list of pictures in the compose box, to be posted with the text. */
export class PictureList {
  readonly #form: HTMLFormElement;
  readonly #root: HTMLElement;
  readonly #list: HTMLUListElement;
  readonly #text: HTMLTextAreaElement;
  readonly #onChange: () => void;
  readonly #fail: (sentence: string) => void;
  readonly #attachments: Attachment[] = [];
  /** Pictures being looked at and shrunk, one after the other. */
  #pending: Promise<void> = Promise.resolve();

  /**
   * @param onChange told of each picture that comes or goes
   * @param fail shows why a picture is not taken
   */
  constructor(form: HTMLFormElement, onChange: () => void, fail: (sentence: string) => void) {
    this.#form = form;
    this.#root = find(form, '.pictures');
    this.#list = find(this.#root, 'ul');
    this.#text = find(form, 'textarea');
    this.#onChange = onChange;
    this.#fail = fail;
    this.#listen();
  }

  /** The pictures, once all that were added are ready. */
  async appendTo(data: FormData): Promise<void> {
    await this.#pending;
    for (const { name, picture, alt } of this.#attachments) {
      data.append('file', picture.file, name);
      if (alt.value.trim() !== '') data.append(`alt.${name}`, alt.value);
    }
  }

  get isEmpty(): boolean {
    return this.#attachments.length === 0;
  }

  /** Settles when all pictures that were added are ready. */
  get ready(): Promise<void> {
    return this.#pending;
  }

  clear(): void {
    for (const attachment of [...this.#attachments]) this.#remove(attachment);
  }

  /** Where the browser has the picture of that name, which no server knows yet. */
  urlOf(name: string): string | undefined {
    return this.#attachments.find((attachment) => attachment.name === name)?.url;
  }

  #listen(): void {
    const input = find<HTMLInputElement>(this.#root, 'input[type=file]');
    const add = find<HTMLButtonElement>(this.#root, '[data-action=add]');
    add.disabled = false;
    add.addEventListener('click', () => input.click());
    input.addEventListener('change', () => {
      this.#add(input.files);
      input.value = '';
    });
    this.#form.addEventListener('paste', (event) => {
      const { clipboardData } = event;
      // An office program copies a picture of a text along with the text.
      if (!clipboardData?.files.length || clipboardData.getData('text/plain') !== '') return;
      event.preventDefault();
      this.#add(clipboardData.files);
    });
    this.#form.addEventListener('dragover', (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      this.#form.classList.add('dropping');
    });
    for (const end of ['dragleave', 'dragend', 'drop'])
      this.#form.addEventListener(end, () => this.#form.classList.remove('dropping'));
    this.#form.addEventListener('drop', (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.#add(event.dataTransfer.files);
    });
  }

  #add(files: FileList | null): void {
    this.#fail('');
    for (const file of files ?? []) {
      this.#pending = this.#pending
        .then(() => this.#addOne(file))
        .catch(() => this.#fail(`${file.name} cannot be read.`));
    }
  }

  async #addOne(file: File): Promise<void> {
    if (TYPES[file.type] === undefined)
      return this.#fail(`${file.name}: a picture must be a PNG, JPEG, GIF or WebP.`);
    const largest = Number(this.#root.dataset.largest);
    const picture = await prepared(
      file,
      { shrink: Number(this.#root.dataset.shrink), largest },
      { keepsType: false },
    );
    if (picture.file.size > largest)
      return this.#fail(
        `${file.name} has ${bytesText(picture.file.size)}; a picture may have at most ${bytesText(largest)}.`,
      );
    const taken = this.#attachments.map(({ name }) => name);
    const extension = picture.file.type === file.type ? undefined : TYPES[picture.file.type];
    this.#show(sendableName(file.name, taken, extension), picture, file.size);
    this.#onChange();
  }

  #show(name: string, picture: PreparedPicture, chosenSize: number): void {
    const template = find<HTMLTemplateElement>(this.#root, 'template');
    const item = find<HTMLLIElement>(template.content, 'li').cloneNode(true) as HTMLLIElement;
    const attachment: Attachment = {
      item,
      name,
      alt: find(item, 'input'),
      picture,
      url: URL.createObjectURL(picture.file),
    };
    find<HTMLImageElement>(item, 'img').src = attachment.url;
    for (const button of item.querySelectorAll('button'))
      button.setAttribute('aria-label', `${button.textContent}: ${name}`);
    const size = bytesText(picture.file.size);
    find(item, '.file').textContent =
      `${name} · ${picture.isShrunk ? `shrunk from ${bytesText(chosenSize)} to ${size}` : size}`;
    item.addEventListener('click', ({ target }) => {
      const action = target instanceof HTMLElement && target.dataset.action;
      if (action === 'remove') {
        this.#remove(attachment);
        find<HTMLButtonElement>(this.#root, '[data-action=add]').focus();
      } else if (action === 'insert') this.#insert(attachment);
      else if (action === 'clean') void this.#clean(attachment);
    });
    this.#attachments.push(attachment);
    this.#list.append(item);
    this.#pointOut(attachment);
  }

  /** Says that a picture tells where it was taken: it will be public. */
  #pointOut({ item, picture }: Attachment): void {
    find<HTMLButtonElement>(item, '[data-action=clean]').hidden = !picture.holdsPosition;
    find(item, '.notice').textContent = picture.holdsPosition
      ? 'This picture says where it was taken. Everybody who reads the feed can find that out.'
      : '';
  }

  async #clean(attachment: Attachment): Promise<void> {
    const { item } = attachment;
    try {
      const file = await withoutMetadata(attachment.picture.file);
      attachment.picture = { ...attachment.picture, file, holdsPosition: false };
    } catch {
      find(item, '.notice').textContent = 'The position cannot be removed in this browser.';
      return;
    }
    URL.revokeObjectURL(attachment.url);
    attachment.url = URL.createObjectURL(attachment.picture.file);
    find<HTMLImageElement>(item, 'img').src = attachment.url;
    this.#pointOut(attachment);
    find(item, '.notice').textContent = 'The position is removed.';
    attachment.alt.focus();
    this.#onChange();
  }

  #insert({ name, alt }: Attachment): void {
    const { selectionStart, selectionEnd } = this.#text;
    const before = this.#text.value.slice(0, selectionStart);
    const space = before === '' || before.endsWith('\n') ? '' : '\n\n';
    const reference = space + pictureReference(name, alt.value);
    this.#text.setRangeText(reference, selectionStart, selectionEnd, 'end');
    this.#text.focus();
    this.#text.dispatchEvent(new Event('input', { bubbles: true }));
  }

  #remove(attachment: Attachment): void {
    this.#attachments.splice(this.#attachments.indexOf(attachment), 1);
    attachment.item.remove();
    URL.revokeObjectURL(attachment.url);
    this.#onChange();
  }
}

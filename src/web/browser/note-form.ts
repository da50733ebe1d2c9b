import { find } from './elements.ts';
import { PictureList } from './picture-list.ts';
import { showPreview } from './preview.ts';
import type { UploadStatus } from './upload-status.ts';

/** The fields of a note in markdown: text, pictures and preview. */
export class NoteForm {
  readonly text: HTMLTextAreaElement;
  readonly updatePreview: () => void;
  /** Undefined if the feed takes no pictures. */
  readonly pictures: PictureList | undefined;

  constructor(form: HTMLFormElement, feed: string, status: UploadStatus) {
    this.text = find(form, 'textarea');
    if (form.querySelector('.pictures') !== null) this.pictures = new PictureList(form, status);
    this.updatePreview = showPreview(form, feed, (name) => this.pictures?.urlOf(name));
  }

  get isBlank(): boolean {
    return this.text.value.trim() === '';
  }

  /** The multipart body, once the pictures are prepared. */
  async content(hasText: boolean): Promise<{ body: FormData; hasPictures: boolean }> {
    const body = new FormData();
    // A file part, because browsers normalize the line breaks of a field.
    if (hasText) body.append('text', new Blob([this.text.value], { type: 'text/markdown' }), 'note.md');
    return { body, hasPictures: (await this.pictures?.appendTo(body)) ?? false };
  }
}

/** Title and tags as headers, if they are not blank. */
export function noteHeaders(title: string, tags: string): Record<string, string> {
  return {
    ...(title.trim() !== '' && { 'X-Note-Title': title.trim() }),
    ...(tags.trim() !== '' && { 'X-Note-Tags': tags.trim() }),
  };
}

/** Ctrl or ⌘ with Enter sends the form. */
export function submitOnEnter(form: HTMLFormElement): void {
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

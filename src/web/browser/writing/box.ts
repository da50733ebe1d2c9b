import type { DraftContent, DraftPicture } from '../keeping/drafts.ts';
import { askWhetherStored, isPosted, STORED_BEFORE } from '../keeping/outbox.ts';
import type { SharedContent } from '../keeping/shared.ts';
import { closest, find } from '../page/elements.ts';
import { defaultOf, type Field, isChanged, noteFields, setValue, valuesOf } from '../page/fields.ts';
import { isComposed } from '../page/keys.ts';
import { RequestFailed, uploadStatus } from '../page/send.ts';
import { keepDraft } from './keep-draft.ts';
import { pictureList } from './picture-list.ts';
import { bothFormer, postKey, postPath } from './post.ts';
import { preview } from './preview.ts';
import { keepsRules } from './rules.ts';
import { completeTags } from './tag-input.ts';
import { textTools } from './text-tools.ts';

export type Box = ReturnType<typeof writingBox>;

/** Boxes by their forms, in the order in which they were opened. */
const boxes = new Map<HTMLFormElement, Box>();

/**
 * A box to write in (`boxParts` of `note-forms.ts`): its text with tools, pictures, tags, title, expiry, preview, draft and rules. What is
 * done at Post or Save is the caller's.
 * @param options `note`: the note that is edited; `base`: what the edit began with, for its draft; `onEscape`: the box is left by key
 */
export function writingBox(
  form: HTMLFormElement,
  options: {
    readonly note?: string;
    readonly base?: () => NonNullable<DraftContent['base']>;
    readonly onRestore?: (base: NonNullable<DraftContent['base']>) => void;
    readonly onEscape: () => void;
  },
) {
  const { draft: feed = '' } = form.dataset;
  const fields = noteFields(form);
  /** Takes a picture in place of the note's. */
  const replacement = form.querySelector<HTMLInputElement>('[name=replacement]');
  const status = uploadStatus(form, hold);
  const text = form.querySelector<HTMLTextAreaElement>('[name=text]');
  const titled = find<HTMLElement>(form, '.titled');
  const title = find<HTMLInputElement>(titled, 'input');
  const addTitle = find<HTMLElement>(form, '[data-action=title]');
  const takesPictures = text !== null && form.querySelector('.pictures') !== null;
  /** Undefined if the feed takes no pictures, or the note is one. */
  const pictures = takesPictures ? pictureList(form, text, changePictures) : undefined;
  const key = postKey(form);
  /** Former keys of which the person was told that they are stored. */
  let toldOf: readonly string[] | undefined;
  const draft = keepDraft(
    form,
    { feed, note: options.note ?? '' },
    { content, holdsMore, isPosted: wasPosted, restore, discard, isSending, say: status.fail },
  );

  if (text !== null) {
    textTools(form, text);
    preview(form, text, (name) => pictures?.urlOf(name));
  }
  completeTags(form);
  form.addEventListener('input', ({ target }) => {
    form.classList.add('open');
    if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) check(target);
    draft.changed();
  });
  form.querySelector('[data-tool=picture]')?.addEventListener('click', () => pictures?.choose());
  addTitle.addEventListener('click', () => {
    showTitle(true);
    title.focus();
  });
  form.addEventListener('keydown', (event) => {
    if (isComposed(event)) return;
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      // Keys that are held down would confirm unread what the page says, such as a conflict.
      if (!event.repeat) form.requestSubmit();
    } else if (event.key === 'Escape') options.onEscape();
  });
  form.addEventListener('paste', (event) => {
    const { clipboardData } = event;
    // Office programs add a picture of the text to a copied text.
    if (pictures === undefined || !clipboardData?.files.length || clipboardData.getData('text/plain') !== '')
      return;
    event.preventDefault();
    pictures.add(clipboardData.files);
  });

  function changePictures(): void {
    key.change();
    draft.changed();
  }

  function check(field: HTMLInputElement | HTMLTextAreaElement): boolean {
    return keepsRules(field, form.querySelector(`#${CSS.escape(`${field.id}-problem`)}`));
  }

  /** Whether all keeps its rules; else the focus goes to what does not. */
  function keepsAll(): boolean {
    const ruled = fields.flatMap((field) => (field instanceof HTMLSelectElement ? [] : field));
    // All are checked, so that each field shows its own problem.
    const isKept = [...ruled.map(check), pictures?.keepsRules() ?? true].every(Boolean);
    if (!isKept) find<HTMLElement>(form, '[aria-invalid=true]').focus();
    return isKept;
  }

  /** Shows the field of the title, or the button for it; by default the field if it holds one. */
  function showTitle(isShown = title.value !== ''): void {
    titled.hidden = !isShown;
    addTitle.hidden = isShown;
  }

  function hasChanges(): boolean {
    return hasDraft() || holdsMore();
  }

  function hasDraft(): boolean {
    return fields.some(isChanged) || draftPictures().length > 0;
  }

  /** Whether pictures are still being prepared; they are in no draft. */
  function holdsMore(): boolean {
    return pictures?.areComing() === true;
  }

  function draftPictures(): readonly DraftPicture[] {
    if (pictures !== undefined) return pictures.now();
    const chosen = [...(replacement?.files ?? [])];
    return chosen.map((file) => ({ name: file.name, alt: '', file, holdsPosition: false }));
  }

  function restorePictures(kept: readonly DraftPicture[]): void {
    pictures?.restore(kept);
    // One that was chosen before the draft was back stays.
    if (replacement === null || replacement.files!.length > 0) return;
    const transfer = new DataTransfer();
    for (const { name, file } of kept) transfer.items.add(new File([file], name, { type: file.type }));
    replacement.files = transfer.files;
    replacement.dispatchEvent(new Event('change'));
  }

  function content(): DraftContent | undefined {
    if (!hasDraft()) return undefined;
    const base = options.base?.();
    return {
      fields: valuesOf(fields),
      pictures: draftPictures(),
      ...(base && { base }),
      ...key.now(),
    };
  }

  function restore({ fields: values, pictures: kept, base, key: sent, formerKeys }: DraftContent): void {
    form.classList.add('open');
    const written = fields.filter(isChanged).map((field) => [field, field.value] as const);
    restorePictures(kept);
    if (base !== undefined) options.onRestore?.(base);
    for (const field of fields) {
      const value = values[field.name];
      // What was not chosen in the draft may have been changed by others since.
      const isAsBefore = field instanceof HTMLSelectElement && value === base?.fields[field.name];
      setValue(field, value === undefined || isAsBefore ? defaultOf(field) : value);
    }
    for (const [field, value] of written) add(field, value);
    const keys = { key: sent, formerKeys };
    key.set(written.length === 0 ? keys : bothFormer(key.now(), keys));
    showTitle();
  }

  /** Resets the box to what the page came with. It keeps the password that was typed for a new feed, because no draft has that. */
  function discard(): void {
    const password = form.querySelector<HTMLInputElement>('[name=password]');
    const typed = password?.value ?? '';
    form.reset();
    if (password !== null) password.value = typed;
    pictures?.clear();
    for (const field of fields) {
      field.ariaInvalid = null;
      // The preview and the height follow.
      field.dispatchEvent(new Event('input'));
    }
    for (const problem of form.querySelectorAll('.problem')) problem.textContent = '';
    showTitle();
  }

  /** Takes no changes while a note is sent: they would be in no note, because the box is emptied afterwards. */
  function hold(isBusy: boolean): void {
    const alts = form.querySelectorAll<HTMLInputElement>('.attachments .alt');
    for (const field of [...fields, ...alts])
      if (field instanceof HTMLSelectElement) field.disabled = isBusy;
      else field.readOnly = isBusy;
    if (replacement !== null) replacement.disabled = isBusy;
  }

  function wasPosted(sent: string): Promise<boolean> {
    return isPosted(postPath(form.dataset.feed ?? ''), sent);
  }

  function isSending(): boolean {
    return form.ariaBusy === 'true';
  }

  /**
   * Asks the service whether it stored what was in the box at an earlier attempt. Returns false if it does not answer: then the content
   * must not be posted yet.
   * @throws RequestFailed, once, if it did
   */
  async function mayPost(): Promise<boolean> {
    const { formerKeys = [] } = key.now();
    if (formerKeys === toldOf) return true;
    const isStored = await askWhetherStored(postPath(form.dataset.feed ?? ''), formerKeys);
    if (isStored === true) {
      toldOf = formerKeys;
      throw new RequestFailed(STORED_BEFORE.error);
    }
    return isStored !== undefined;
  }

  /** The header of a post of what is in the box. Its draft keeps the key, so that it is posted once even if the page is left. */
  function keyHeader(): Record<string, string> {
    const header = key.header();
    draft.changed();
    return header;
  }

  /** Adds to what a field holds; a choice takes its place. */
  function add(field: Field, more: string): void {
    const between = { text: '\n\n', tags: ', ' }[field.name] ?? ' ';
    const parts = field instanceof HTMLSelectElement ? [more] : [field.value, more];
    setValue(field, parts.filter((part) => part !== '').join(between));
  }

  /** Adds to what is written. */
  function fill({ text: more = '', title: given, tags, files = [] }: Partial<SharedContent>): void {
    form.classList.add('open');
    if (text !== null && more !== '') add(text, more);
    if (given) setValue(title, given);
    if (tags) setValue(find<HTMLInputElement>(form, '[name=tags]'), tags);
    showTitle();
    text?.setSelectionRange(text.value.length, text.value.length);
    pictures?.add(files);
  }

  const box = {
    form,
    text,
    fields,
    pictures,
    status,
    draft,
    hasChanges,
    keepsAll,
    mayPost,
    keyHeader,
    formerKeys: () => key.now().formerKeys,
    discard,
    fill,
    restore,
    /** Call it when the box is removed from the page. */
    close() {
      status.cancel();
      pictures?.clear();
      draft.forget();
      boxes.delete(form);
    },
  };
  boxes.set(form, box);
  return box;
}

/** The box that takes what is dropped at an element: the one around it, the one in use, or the last that was opened. */
export function boxFor(target: EventTarget | null): Box | undefined {
  const around = (element: EventTarget | null) => {
    const form = closest<HTMLFormElement>(element, 'form.box');
    return form === null ? undefined : boxes.get(form);
  };
  return (
    around(target) ??
    around(document.activeElement) ??
    [...boxes.values()].findLast(({ pictures }) => pictures)
  );
}

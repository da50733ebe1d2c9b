import type { DraftPicture } from '../keeping/drafts.ts';
import { closest, find, onActions } from '../page/elements.ts';
import { bytesText } from '../page/text.ts';
import { toast } from '../page/toast.ts';
import { pictureReference, sendableName } from './file-name.ts';
import { keepsRules } from './rules.ts';
import { POSITION_WARNING, preparePicture, withoutMetadata } from './shrink.ts';
import { insertBlock } from './text-tools.ts';

interface Row {
  readonly item: HTMLLIElement;
  readonly alt: HTMLInputElement;
  picture: DraftPicture;
  url: string;
}

/**
 * The pictures of a form, in the order of its rows. A picture that is added is shown in the text at the caret.
 * @param onChange called after a picture was added, changed, moved or removed
 */
export function pictureList(form: HTMLFormElement, text: HTMLTextAreaElement, onChange: () => void) {
  const root = find<HTMLElement>(form, '.pictures');
  const list = find<HTMLUListElement>(root, 'ul');
  const input = find<HTMLInputElement>(root, 'input[type=file]');
  const problem = find(root, '.problem');
  const [shrink, largest, most] = [root.dataset.shrink, root.dataset.largest, root.dataset.most].map(
    Number,
  ) as [number, number, number];
  const rows = new Map<Element, Row>();
  /** Why pictures that were asked for could not be added, or still have their position, if that came out during the wait; else empty. */
  let unread = '';
  /** Settles when all pictures are as they were asked for, one after the other: added, or without their position. */
  let ready: Promise<unknown> = Promise.resolve();
  /** How many pictures were asked for and are not added yet. */
  let coming = 0;
  /** How often the list was emptied. A picture that was asked for before the last time is not added. */
  let emptied = 0;
  let dragged: Row | undefined;

  input.addEventListener('change', () => {
    add(input.files ?? []);
    input.value = '';
  });
  list.addEventListener('dragstart', (event) => {
    dragged = rows.get(event.target as Element);
    // Firefox drags nothing without data.
    event.dataTransfer?.setData('text/x-picture', '');
  });
  list.addEventListener('dragover', (event) => {
    const over = closest(event.target, 'li');
    if (dragged === undefined || over === null) return;
    event.preventDefault();
    const { top, height } = over.getBoundingClientRect();
    over[event.clientY < top + height / 2 ? 'before' : 'after'](dragged.item);
  });
  list.addEventListener('dragend', () => {
    if (dragged !== undefined) onChange();
    dragged = undefined;
  });

  /**
   * Adds files one after the other, and says why it refuses one. It takes none while the note is being sent, like `hold` of the box.
   * @param alt the alternative text of each
   */
  function add(files: Iterable<File>, alt = ''): void {
    if (text.readOnly) return void toast('The note is being sent. Add the picture again afterwards.');
    problem.textContent = '';
    const asked = emptied;
    for (const file of [...files]) {
      coming += 1;
      ready = ready
        .then(() => addOne(file, alt, asked))
        .catch(() => {
          if (asked === emptied) refuse(`${file.name} cannot be read.`);
        })
        .finally(() => {
          coming -= 1;
        });
    }
  }

  /** Of a note that is being sent, nothing can be changed any more. */
  function unlessSent(work: () => void): void {
    if (text.readOnly) toast('The note is being sent.');
    else work();
  }

  /** Beside what was said of others. */
  function refuse(sentence: string): void {
    problem.textContent = unread = `${problem.textContent} ${sentence}`.trim();
  }

  async function addOne(chosen: File, alt: string, asked: number): Promise<void> {
    if (asked !== emptied) return;
    if (rows.size === most)
      return refuse(
        `${chosen.name}: a note may have at most ${most} pictures. Post the others as another note.`,
      );
    if (!input.accept.split(',').includes(chosen.type))
      return refuse(`${chosen.name}: a picture must be a PNG, JPEG, GIF or WebP.`);
    const { file, holdsPosition } = await preparePicture(chosen, shrink, false);
    if (asked !== emptied) return;
    if (file.size > largest)
      return refuse(
        `${chosen.name} has ${bytesText(file.size)}; a picture may have at most ${bytesText(largest)}.`,
      );
    const usedNames = inOrder().map(({ picture }) => picture.name);
    // Only a picture that was drawn again may have another type: PNG or WebP.
    const extension = file.type === chosen.type ? undefined : file.type.split('/')[1];
    const name = sendableName(chosen.name, usedNames, extension);
    const row = addRow({ name, file, alt, holdsPosition });
    if (file !== chosen) find(row.item, '.file').textContent += `, shrunk from ${bytesText(chosen.size)}`;
    // It took a while: what is selected by now must stay, and so must the focus of another field that somebody types in.
    const focused = document.activeElement as HTMLElement | null;
    text.setSelectionRange(text.selectionEnd, text.selectionEnd);
    insertBlock(text, pictureReference(name, alt));
    if (focused?.matches('input, textarea, select')) focused.focus();
    onChange();
  }

  function addRow(picture: DraftPicture): Row {
    const template = find<HTMLTemplateElement>(root, 'template');
    const item = find<HTMLLIElement>(template.content, 'li').cloneNode(true) as HTMLLIElement;
    const row: Row = { item, alt: find(item, 'input'), picture, url: '' };
    const { name } = picture;
    for (const button of item.querySelectorAll('button')) {
      const label = button.ariaLabel ?? button.textContent;
      button.ariaLabel = `${label}: ${name}`;
    }
    row.alt.ariaLabel = `Alternative text of ${name}`;
    row.alt.value = picture.alt;
    row.alt.addEventListener('input', () => describe(row));
    onActions(item, {
      up: () => unlessSent(() => move(row, item.previousElementSibling, 'before')),
      down: () => unlessSent(() => move(row, item.nextElementSibling, 'after')),
      insert: () => unlessSent(() => insertBlock(text, referenceOf(row))),
      clean: () =>
        unlessSent(() => {
          ready = ready.then(() => removePosition(row));
        }),
      remove: () => unlessSent(() => remove(row)),
    });
    rows.set(item, row);
    list.append(item);
    show(row, picture);
    return row;
  }

  /** Shows a picture, with a warning if it says where it was taken, because it will be public. */
  function show(row: Row, picture: DraftPicture): void {
    const { item } = row;
    URL.revokeObjectURL(row.url);
    row.picture = picture;
    row.url = URL.createObjectURL(picture.file);
    find<HTMLImageElement>(item, 'img').src = row.url;
    find(item, '.file').textContent = `${picture.name} · ${bytesText(picture.file.size)}`;
    find<HTMLButtonElement>(item, '[data-action=clean]').hidden = !picture.holdsPosition;
    find(item, '.notice').textContent = picture.holdsPosition ? POSITION_WARNING : '';
  }

  /** Keeps the alternative text in the text the same as in its row. */
  function describe(row: Row): void {
    keepsRules(row.alt, find(row.item, '.problem'), 'alt');
    replaceReference(row, pictureReference(row.picture.name, row.alt.value));
    row.picture = { ...row.picture, alt: row.alt.value };
    onChange();
  }

  function move(row: Row, other: Element | null, where: 'before' | 'after'): void {
    const focused = document.activeElement as HTMLElement;
    other?.[where](row.item);
    // An element that moves loses the focus.
    focused.focus();
    onChange();
  }

  async function removePosition(row: Row): Promise<void> {
    const notice = find(row.item, '.notice');
    try {
      const file = await withoutMetadata(row.picture.file);
      if (!rows.has(row.item)) return;
      if (file === undefined) {
        notice.textContent = unread = 'The position cannot be removed here, because the picture is animated.';
        return;
      }
      // Its alternative text may have been typed meanwhile.
      show(row, { ...row.picture, file, holdsPosition: false });
    } catch {
      if (rows.has(row.item)) notice.textContent = unread = 'The position cannot be removed in this browser.';
      return;
    }
    notice.textContent = 'The position is removed.';
    row.alt.focus();
    onChange();
  }

  function remove(row: Row): void {
    const next = row.item.nextElementSibling ?? row.item.previousElementSibling;
    replaceReference(row, '');
    drop(row);
    (next?.querySelector<HTMLElement>('[data-action=remove]') ?? text).focus();
    onChange();
  }

  function drop({ item, url }: Row): void {
    rows.delete(item);
    item.remove();
    URL.revokeObjectURL(url);
  }

  function referenceOf({ picture }: Row): string {
    return pictureReference(picture.name, picture.alt);
  }

  /** Replaces the reference to a picture in the text if it is as it was inserted. */
  function replaceReference(row: Row, by: string): void {
    const reference = referenceOf(row);
    const at = text.value.indexOf(reference);
    if (at === -1) return;
    text.setRangeText(by, at, at + reference.length);
    text.dispatchEvent(new Event('input', { bubbles: true }));
  }

  /**
   * Waits until all pictures are added, and without their position where that was asked for. Returns why one could not be, if that came
   * out during the wait; else empty.
   */
  async function settle(): Promise<string> {
    unread = '';
    // More may be asked for meanwhile.
    for (let known: unknown; known !== ready; await known) known = ready;
    return unread;
  }

  function inOrder(): Row[] {
    return [...list.children].flatMap((item) => rows.get(item) ?? []);
  }

  return {
    add,
    choose: () => input.click(),
    settle,
    /** The pictures that are prepared, in their order. */
    now: () => inOrder().map(({ picture }) => picture),
    /** Whether pictures are still being prepared. */
    areComing: () => coming > 0,
    /** Takes pictures of a draft, whose text shows them already. */
    restore: (pictures: readonly DraftPicture[]) => pictures.forEach(addRow),
    clear() {
      emptied += 1;
      inOrder().forEach(drop);
      problem.textContent = unread = '';
    },
    /** Replaces a picture of this list by its stored file, also in the text. Does nothing if the person has changed its reference there. */
    takeStored(name: string, file: string) {
      const row = inOrder().find(({ picture }) => picture.name === name);
      if (row === undefined || !text.value.includes(referenceOf(row))) return;
      replaceReference(row, pictureReference(file, row.picture.alt));
      drop(row);
      onChange();
    },
    keepsRules: () => inOrder().every(({ item, alt }) => keepsRules(alt, find(item, '.problem'), 'alt')),
    /** The text without its references to pictures of this list. */
    wordsOf: (value: string) => inOrder().reduce((words, row) => words.replace(referenceOf(row), ''), value),
    /** Object URL of the picture of that name. */
    urlOf: (name: string) => inOrder().find(({ picture }) => picture.name === name)?.url,
  };
}

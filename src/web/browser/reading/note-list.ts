import { showDays, showTimes } from './times.ts';

/** The longest wait of a timer. */
const MAX_WAIT_MS = 2 ** 31 - 1;
/** A note that expires while it is edited is looked at again after so many ms, because it goes once the edit is closed. */
const EDITED_MS = 1000;

/** What came with a page. */
interface Shown {
  /** The notes that came into the list. */
  readonly came: readonly HTMLElement[];
  /** How many are there to be asked for. */
  readonly waiting: number;
}

/**
 * The notes of a page (`#notes`). It changes only what the service has changed: other elements stay the same, and with them
 * selection, focus and what scripts have made of them.
 */
export class NoteList {
  readonly element: HTMLElement;
  /** Each note as the service sent it, by id, because scripts change what is shown. */
  readonly #sent = new Map<string, string>();
  /** Notes that were deleted here: a page that was sent before must not bring them back. */
  readonly #gone = new Set<string>();
  /** The parts around the notes, as the service sent them. */
  readonly #below: Part;
  readonly #above: Part;
  #expiry: ReturnType<typeof setTimeout> | undefined;

  /** @param element as the service sent it */
  constructor(element: HTMLElement) {
    this.element = element;
    this.#above = new Part(element.querySelector('.above')!);
    this.#below = new Part(element.querySelector('.below')!);
    for (const note of this.notes) this.#sent.set(idOf(note), note.outerHTML);
    this.#watchExpiry();
  }

  /** All of them, newest first, those included that are hidden until their deletion is certain. */
  get notes(): HTMLElement[] {
    return notesIn(this.element);
  }

  /** Whether somebody reads or works in the list. */
  get isUsed(): boolean {
    const selection = getSelection();
    return (
      this.element.contains(document.activeElement) ||
      (selection?.isCollapsed === false && this.element.contains(selection.anchorNode)) ||
      this.element.querySelector('[data-editing]') !== null
    );
  }

  /** Removes a note for good. */
  remove(note: HTMLElement): void {
    this.#gone.add(idOf(note));
    this.#drop(note);
    showDays(this.element);
  }

  /**
   * Shows the list as it is now. What is in view keeps its place, unless new notes are taken.
   * @param fresh `#notes` as the service sent it; may be shown again
   * @param takesNew whether notes come in above others that are shown; else they wait
   */
  show(fresh: HTMLElement, takesNew: boolean): Shown {
    const known = new Map(this.notes.map((note) => [idOf(note), note]));
    const arrived = notesIn(fresh).filter((note) => !this.#gone.has(idOf(note)) && !isOver(note));
    const lastKnown = arrived.findLastIndex((note) => known.has(idOf(note)));
    const isDisjoint = lastKnown === -1;
    this.#forgetGone(fresh);
    const { gone, pushed } = this.#left(fresh, arrived);
    // Old notes that new ones push to the next page are removed only while they are out of view.
    const keepsPushed = pushed[0] !== undefined && !(takesNew && isDisjoint) && isInView(pushed[0]);
    const goes = keepsPushed ? gone : [...gone, ...pushed];
    // If the new list shares no note with this one, notes between the two may be missing, so the lists are not mixed.
    const isPutOff = isDisjoint && !takesNew && keepsPushed;
    const waits = (n: number) => isPutOff || (!takesNew && n < lastKnown);

    const place = takesNew ? undefined : new Place(this.notes, goes);
    for (const note of goes) this.#drop(note);
    const came: HTMLElement[] = [];
    let next: Element = (keepsPushed && pushed[0]) || this.element.querySelector(':scope > .below')!;
    let waiting = 0;
    for (const [n, note] of [...arrived.entries()].reverse()) {
      const mine = known.get(idOf(note));
      if (mine !== undefined) next = this.#update(mine, note);
      else if (waits(n)) waiting += 1;
      else {
        const copy = this.#copy(note);
        next.before(copy);
        came.unshift(copy);
        next = copy;
      }
    }
    this.#above.follow(fresh);
    if (!keepsPushed) this.#below.follow(fresh);
    this.element.dataset.version = fresh.dataset.version;
    showDays(this.element);
    place?.restore();
    this.#watchExpiry();
    return { came, waiting };
  }

  /** A page without a deleted note was sent after the deletion. If a later page has the note, somebody has brought it back, such as by an import. */
  #forgetGone(fresh: HTMLElement): void {
    const ids = new Set(notesIn(fresh).map(idOf));
    for (const id of this.#gone) if (!ids.has(id)) this.#gone.delete(id);
  }

  /** The notes of this list that did not arrive: deleted ones, and those that are on the next page now. */
  #left(fresh: HTMLElement, arrived: readonly HTMLElement[]): Record<'gone' | 'pushed', HTMLElement[]> {
    const ids = new Set(arrived.map(idOf));
    const end = fresh.querySelector('.pages [rel=next]') === null ? undefined : arrived.at(-1);
    // What somebody writes stays, even if its note is gone.
    const left = this.notes.filter((note) => !ids.has(idOf(note)) && !isEdited(note));
    const isPushed = (note: HTMLElement) => end !== undefined && isBelow(note, end);
    return { gone: left.filter((note) => !isPushed(note)), pushed: left.filter(isPushed) };
  }

  /** Returns the element of a note that is shown, another one if the note was changed. */
  #update(shown: HTMLElement, fresh: HTMLElement): HTMLElement {
    if (this.#sent.get(idOf(fresh)) === fresh.outerHTML) return shown;
    if (isEdited(shown)) {
      shown.dataset.changed = '';
      return shown;
    }
    const copy = this.#copy(fresh);
    // Counted from the end, because an edit may change the number of links before the focused control.
    const focused = shown.contains(document.activeElement)
      ? controlsIn(shown).indexOf(document.activeElement as HTMLElement) - controlsIn(shown).length
      : undefined;
    const menu = shown.querySelector('.menu[open]');
    if (menu !== null) copy.querySelector('.menu')?.replaceWith(menu);
    shown.replaceWith(copy);
    if (focused !== undefined) (controlsIn(copy).at(focused) ?? copy).focus({ preventScroll: true });
    shown.dispatchEvent(new Event('replaced'));
    return copy;
  }

  #copy(fresh: HTMLElement): HTMLElement {
    this.#sent.set(idOf(fresh), fresh.outerHTML);
    const copy = document.importNode(fresh, true);
    showTimes(copy);
    return copy;
  }

  #drop(note: HTMLElement): void {
    if (note.contains(document.activeElement)) focusBeside(note);
    this.#sent.delete(idOf(note));
    note.remove();
  }

  /** Removes notes when they expire. A note that somebody edits is removed after the edit is closed. */
  #watchExpiry(): void {
    clearTimeout(this.#expiry);
    const first = Math.min(...this.notes.map(expiryOf));
    if (first === Number.POSITIVE_INFINITY) return;
    const soonest = this.notes.some((note) => isOver(note) && isEdited(note)) ? EDITED_MS : 0;
    this.#expiry = setTimeout(
      () => {
        // Not for good: somebody may have let one live longer, which a page does not hear of while it is hidden.
        for (const note of this.notes) if (isOver(note) && !isEdited(note)) this.#drop(note);
        showDays(this.element);
        this.#watchExpiry();
      },
      Math.min(Math.max(soonest, first - Date.now()), MAX_WAIT_MS),
    );
  }
}

/** Moves the focus to the next note that is shown, else to the one before, else to the page. */
export function focusBeside(note: HTMLElement): void {
  const notes = [...note.parentElement!.querySelectorAll<HTMLElement>(':scope > .note:not([hidden])')];
  const after = (other: HTMLElement) =>
    note.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
  const next =
    notes.find((other) => other !== note && after(other)) ?? notes.findLast((other) => other !== note);
  (next ?? document.querySelector<HTMLElement>('#main'))?.focus({ preventScroll: true });
}

/** A part of the page that follows what the service sends. */
export class Part {
  readonly #element: Element;
  #sent: string;

  constructor(element: Element) {
    this.#element = element;
    this.#sent = element.innerHTML;
  }

  /** @param fresh what the service sent, with a part of the same class */
  follow(fresh: ParentNode): void {
    const part = fresh.querySelector(`.${this.#element.className}`);
    if (part === null || part.innerHTML === this.#sent) return;
    this.#sent = part.innerHTML;
    this.#element.replaceChildren(...document.importNode(part, true).childNodes);
  }
}

/** Where the first note in view stands, to put it there again after a change above it. */
class Place {
  /** Browsers scroll by whole pixels. What was left over is made up for at the next change, or the page would creep. */
  static #rest = { scrollY: 0, px: 0 };
  readonly #id: string | undefined;
  readonly #top: number = 0;

  constructor(notes: readonly HTMLElement[], going: readonly HTMLElement[]) {
    const first = notes.find((note) => !going.includes(note) && note.getBoundingClientRect().bottom > 0);
    if (first === undefined) return;
    this.#id = first.id;
    this.#top = first.getBoundingClientRect().top + (Place.#rest.scrollY === scrollY ? Place.#rest.px : 0);
  }

  restore(): void {
    const note = this.#id === undefined ? null : document.getElementById(this.#id);
    if (note === null) return;
    const moved = () => note.getBoundingClientRect().top - this.#top;
    scrollBy(0, moved());
    Place.#rest = { scrollY, px: -moved() };
  }
}

function notesIn(list: HTMLElement): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>(':scope > .note')];
}

function controlsIn(note: HTMLElement): HTMLElement[] {
  return [...note.querySelectorAll<HTMLElement>('a, button, summary')];
}

function idOf(note: HTMLElement): string {
  return note.dataset.id!;
}

function expiryOf(note: HTMLElement): number {
  const time = note.querySelector<HTMLTimeElement>('.expires time');
  return time === null ? Number.POSITIVE_INFINITY : Date.parse(time.dateTime);
}

function isOver(note: HTMLElement): boolean {
  return expiryOf(note) <= Date.now();
}

function isEdited(note: HTMLElement): boolean {
  return note.dataset.editing !== undefined;
}

function isBelow(note: HTMLElement, end: HTMLElement): boolean {
  return note.querySelector('time')!.dateTime <= end.querySelector('time')!.dateTime;
}

function isInView(note: HTMLElement): boolean {
  return note.getBoundingClientRect().top < innerHeight;
}

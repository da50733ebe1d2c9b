import {
  type Draft,
  type DraftContent,
  deleteDraft,
  type Slot,
  storeDraft,
  takeDraft,
} from '../keeping/drafts.ts';
import { find } from '../page/elements.ts';

const CANNOT_KEEP = 'This browser keeps no drafts, so what you write is lost when you leave the page.';

/** The boxes of this page. */
const boxes = new Set<{ readonly isUnsafe: () => boolean }>();

addEventListener('beforeunload', (event) => {
  if ([...boxes].some(({ isUnsafe }) => isUnsafe())) event.preventDefault();
});

/** What a box says of itself to whatever keeps its draft. */
interface DraftedBox {
  /** What to keep; undefined if nothing was written. */
  content(): DraftContent | undefined;
  /** Puts it before what was written already. */
  restore(draft: Draft): void;
  /** Empties the box. */
  discard(): void;
  /** Something is being sent. */
  isSending(): boolean;
  say(sentence: string): void;
}

/** Keeps the draft of a box from the first letter, and asks before a page is left with something that is in no draft. */
export function keepDraft(form: HTMLFormElement, slot: Slot, box: DraftedBox) {
  const line = find<HTMLElement>(form, '.restored');
  let isDirty = false;
  let writing: Promise<void> | undefined;
  let restoring: Promise<boolean> | undefined;
  /** What is in the box is stored, or will be whatever becomes of the page, unless it is dirty. */
  let isSafe = true;
  let isBroken = false;
  const guard = {
    isUnsafe: () => box.isSending() || (box.content() !== undefined && (isDirty || !isSafe || isBroken)),
  };
  boxes.add(guard);

  find(line, 'button').addEventListener('click', () => {
    line.hidden = true;
    box.discard();
    void clear();
  });

  /** Writes what is in the box now. Changes while it is written are written together. */
  function changed(): void {
    isDirty = true;
    writing ??= write().finally(() => {
      writing = undefined;
    });
  }

  async function write(): Promise<void> {
    // What is there must not be overwritten by what is typed before it is read.
    await restoring;
    while (isDirty) {
      isDirty = false;
      isSafe = false;
      const content = box.content();
      try {
        if (content === undefined) await deleteDraft(slot);
        else {
          const { done } = await storeDraft(slot, content);
          isSafe = true;
          await done;
        }
        isBroken = false;
      } catch {
        if (!isBroken && content !== undefined) box.say(CANNOT_KEEP);
        isBroken = content !== undefined;
      }
    }
  }

  /** Puts the draft, if there is one, into the box and tells the person. Returns whether there was one. */
  function restore(): Promise<boolean> {
    restoring = putBack();
    return restoring;
  }

  async function putBack(): Promise<boolean> {
    const draft = await takeDraft(slot).catch(() => undefined);
    // Before the box was loaded, or its draft was read.
    const isWritten = box.content() !== undefined;
    if (draft !== undefined) box.restore(draft);
    // What came back is stored already.
    isDirty = false;
    if (isWritten) changed();
    if (draft === undefined) return false;
    find(line, 'span').textContent = `Your draft of ${timeText(draft.at)} is back.`;
    line.hidden = false;
    return true;
  }

  /** Deletes the draft: its text was sent, or the person discards it. */
  async function clear(): Promise<void> {
    line.hidden = true;
    isDirty = false;
    await writing;
    await deleteDraft(slot).catch(() => {});
  }

  return {
    changed,
    restore,
    clear,
    /** Of a box that is closed: it asks nothing any more. */
    forget: () => boxes.delete(guard),
  };
}

/** A time of today by the clock, else with its day. */
function timeText(time: number): string {
  const isToday = new Date(time).toDateString() === new Date().toDateString();
  const format = isToday ? { timeStyle: 'short' } : { dateStyle: 'medium', timeStyle: 'short' };
  return new Intl.DateTimeFormat(undefined, format as Intl.DateTimeFormatOptions).format(time);
}

import {
  type Draft,
  type DraftContent,
  deleteDraft,
  type Slot,
  storeDraft,
  takeDraft,
} from '../keeping/drafts.ts';
import { find } from '../page/elements.ts';
import { inTime } from '../page/in-time.ts';
import { timeText } from '../page/text.ts';

/** How long posting waits for the stored draft, ms. */
const PATIENCE_MS = 10_000;
const CANNOT_KEEP = 'This browser keeps no drafts, so what you write is lost when you leave the page.';

/** For each open box of this page, whether to ask before the page is left. */
const guards = new Set<() => boolean>();

addEventListener('beforeunload', (event) => {
  if ([...guards].some((guard) => guard())) event.preventDefault();
});

/** The box whose draft is kept. */
interface DraftedBox {
  /** What to keep; undefined if nothing was written. */
  content(): DraftContent | undefined;
  /** Something was chosen that is in no draft yet. */
  holdsMore(): boolean;
  /** Whether the post with that key waits or is stored, so that its draft is not needed. */
  isPosted(key: string): Promise<boolean>;
  /** Puts the draft before the text that was written already. */
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
  let writing: Promise<boolean> | undefined;
  let restoring: Promise<boolean> | undefined;
  /** The stored draft, if there is one, could not be read, or not in time, so it must not be overwritten. */
  let isUnread = false;
  /** Reading it failed, which may pass. */
  let mayReadAgain = false;
  /** The last write is stored, or will be even if the page is left. Changes since then make the box dirty. */
  let isSafe = true;
  let isBroken = false;
  const guard = () =>
    box.isSending() || box.holdsMore() || (box.content() !== undefined && (isDirty || !isSafe || isBroken));
  guards.add(guard);

  // While the browser had put the page aside, its window counted as gone: another one may have taken the draft.
  addEventListener('pageshow', ({ persisted }) => {
    if (!persisted || !guards.has(guard) || guard() || box.content() === undefined) return;
    box.discard();
    void restore();
  });
  form.addEventListener('focusin', readAgain);
  find(line, 'button').addEventListener('click', () => {
    line.hidden = true;
    box.discard();
    void clear();
  });

  /** Keeps what is in the box now. Returns, once it is written, whether it is kept. */
  async function changed(): Promise<boolean> {
    // The stored draft may be that of the next edit of the note by now.
    if (!guards.has(guard)) return false;
    readAgain();
    return keep();
  }

  /** Writes what is in the box. Changes that come during a write are written together after it. */
  function keep(): Promise<boolean> {
    isDirty = true;
    writing ??= write().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  async function write(): Promise<boolean> {
    // A draft that is not read yet must not be overwritten by newly typed text.
    await restoring;
    while (isDirty) {
      isDirty = false;
      isSafe = false;
      const content = guards.has(guard) ? box.content() : undefined;
      try {
        if (isUnread) throw new Error('the stored draft was not read');
        if (content === undefined) await deleteDraft(slot);
        else {
          const { done } = await storeDraft(slot, content);
          isSafe = true;
          await done;
        }
        if (isBroken && find(form, '.error').textContent === CANNOT_KEEP) box.say('');
        isBroken = false;
      } catch {
        if (!isBroken && content !== undefined) box.say(CANNOT_KEEP);
        isBroken = content !== undefined;
      }
      await restoring;
    }
    return !isBroken;
  }

  /** Puts the draft, if there is one, into the box and tells the person. Returns whether there was one. */
  function restore(): Promise<boolean> {
    // What was typed already is in no draft.
    isDirty = true;
    restoring = putBack().finally(() => {
      restoring = undefined;
    });
    return restoring;
  }

  /** Reads the draft again if that has failed. Not for a box that is being sent: its words go, and the draft would go with them. */
  function readAgain(): void {
    if (mayReadAgain && restoring === undefined && !box.isSending()) void restore();
  }

  async function putBack(): Promise<boolean> {
    mayReadAgain = false;
    const taken = takeDraft(slot);
    let draft: Draft | undefined;
    try {
      draft = await inTime(taken, PATIENCE_MS);
      if (draft?.key !== undefined && (await box.isPosted(draft.key))) {
        await deleteDraft(slot);
        draft = undefined;
      }
      // What was sent or closed meanwhile is emptied, and the person has not seen the draft.
      mayReadAgain = draft !== undefined && (box.isSending() || !guards.has(guard));
      isUnread = mayReadAgain;
      if (mayReadAgain) return false;
    } catch {
      isUnread = true;
      const clearLate = (late: Draft | undefined) => {
        isUnread = late !== undefined;
        if (box.content() !== undefined) void keep();
      };
      taken.then(clearLate, () => {
        mayReadAgain = true;
      });
    }
    // True for text that was typed before the draft was read.
    const isWritten = box.content() !== undefined;
    if (draft !== undefined) box.restore(draft);
    // What came back is stored already.
    isDirty = false;
    if (isWritten) void keep();
    if (draft === undefined) return false;
    const lack = draft.lacksPicture ? ', without a picture that cannot be read' : '';
    find(line, 'span').textContent = `Your draft of ${timeText(draft.at)} is back${lack}.`;
    line.hidden = false;
    return true;
  }

  /** Deletes the draft of a box that was emptied or is closed. What was typed since stays one. */
  async function clear(): Promise<void> {
    line.hidden = true;
    await keep();
  }

  return {
    changed,
    restore,
    /** Whether a draft that is being read comes back; the person has not seen it yet. False if none is being read. */
    comesBack: () => restoring ?? Promise.resolve(false),
    clear,
    /** Of a box that is closed: it asks nothing any more, and holds nothing. */
    forget: () => guards.delete(guard),
  };
}

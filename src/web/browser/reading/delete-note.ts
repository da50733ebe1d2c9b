import { closest, ROOT } from '../page/elements.ts';
import { commandLetter } from '../page/keys.ts';
import { isUnanswered, RequestFailed, send } from '../page/send.ts';
import { LOGGING_OUT } from '../page/service.ts';
import { type Toast, toast } from '../page/toast.ts';
import { type Deletion, FEED, HANDED_OVER, LEFT, leaveDeletions, takeDeletions } from './left-deletions.ts';
import { refresh } from './live.ts';
import { focusBeside, type NoteList } from './note-list.ts';
import { showDays } from './times.ts';

/** How long a deletion can be undone. */
const UNDO_MS = 10_000;
const CHANGED = 'The note was changed meanwhile, so it is not deleted.';
const UNANSWERED = 'The service did not answer, so the note may still exist. Please try again.';

/** Deletions that are carried out when their toasts end or the page is left. */
const pending = new Map<Deletion, Toast>();
/** Deletions that the service has not answered yet. The browser may break off their requests when the page is left. */
const unanswered = new Set<Deletion>();

/** Lets the notes of a list be deleted by their menus, and carries out a deletion that another page has handed over. */
export function startDeleting(list: NoteList): void {
  onDelete((note) => {
    takeAway(deletionOf(note), note);
    // The page may not have heard of a change yet. It then shows the note again.
    void refresh(false);
  });
  document.addEventListener('keydown', undoByKey);
  addEventListener('pagehide', carryOutAll);
  // The browser sends no login any more when it leaves the page.
  addEventListener(LOGGING_OUT, carryOutAll);
  addEventListener('pageshow', ({ persisted }) => persisted && carryOutLeft());
  carryOutLeft();
  for (const deletion of takeDeletions(HANDED_OVER)) takeAway(deletion, shown(deletion));

  function shown({ id }: Deletion): HTMLElement | undefined {
    return list.notes.find(({ dataset }) => dataset.id === id);
  }

  /** Deletes the notes again, because the service may not have heard of it. The page need not show them: it may be of a tag. */
  function carryOutLeft(): void {
    for (const deletion of takeDeletions(LEFT)) {
      const note = shown(deletion);
      if (note !== undefined) hide(note);
      void carryOut(deletion, note);
    }
  }

  function hide(note: HTMLElement): void {
    note.hidden = true;
    showDays(list.element);
  }

  /** @param note undefined if the page does not show it */
  function takeAway(deletion: Deletion, note?: HTMLElement): void {
    if (note !== undefined) {
      focusBeside(note);
      hide(note);
      note.addEventListener('replaced', () => cancel(deletion), { once: true });
    }
    const offer = {
      label: 'Undo',
      run: () => {
        pending.delete(deletion);
        const open = () => location.assign(pageOf(deletion));
        if (note === undefined) open();
        else if (!bringBack(note))
          toast('The note is not on this page any more.', { label: 'Look for it', run: open });
      },
      otherwise: () => void carryOut(deletion, note),
    };
    pending.set(deletion, toast('Deleted.', offer, UNDO_MS));
  }

  async function carryOut(deletion: Deletion, note?: HTMLElement): Promise<void> {
    pending.delete(deletion);
    unanswered.add(deletion);
    try {
      await send({ method: 'DELETE', path: pathOf(deletion), headers: condition(deletion) });
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      if (error.code !== 'not_found') return spare(error, note);
    } finally {
      unanswered.delete(deletion);
    }
    if (note !== undefined) list.remove(note);
  }

  /** Shows a note again that is not deleted, and says why. */
  async function spare(error: RequestFailed, note?: HTMLElement): Promise<void> {
    if (note?.hidden) bringBack(note);
    const isChanged = error.code === 'changed';
    toast(isChanged ? CHANGED : notDeleted(error));
    if (isChanged) await refresh(false);
  }

  /** Returns false if the note is not in the list any more. */
  function bringBack(note: HTMLElement): boolean {
    note.hidden = false;
    showDays(list.element);
    note.focus();
    return note.isConnected;
  }
}

/** Lets the note of this page be deleted by its menu. Leads to the page of the feed, where that can be undone. */
export function startDeletingHere(): void {
  onDelete((note) => {
    const deletion = deletionOf(note);
    try {
      leaveDeletions(HANDED_OVER, [deletion]);
    } catch {
      // Storage may be blocked.
      carryOutNow(deletion);
    }
    location.assign(`${ROOT}/${FEED}`);
  });
}

function onDelete(deleteNote: (note: HTMLElement) => void): void {
  document.addEventListener('click', ({ target }) => {
    const note = closest(target, '.menu [data-action=delete]')?.closest<HTMLElement>('.note');
    if (note) deleteNote(note);
  });
}

/** Spares a note that somebody else has changed before it was deleted. */
function cancel(deletion: Deletion): void {
  const shown = pending.get(deletion);
  // The deletion was undone before, or has been carried out already.
  if (shown === undefined) return;
  shown.close();
  pending.delete(deletion);
  toast(CHANGED);
}

function notDeleted(error: RequestFailed): string {
  return isUnanswered(error) ? UNANSWERED : `The note is not deleted. ${error.message}`;
}

function carryOutAll(): void {
  const left = [...unanswered, ...pending.keys()];
  try {
    if (left.length > 0) leaveDeletions(LEFT, left);
  } catch {
    // Storage may be blocked. Then the next page cannot report a deletion that failed.
  }
  for (const shown of pending.values()) shown.close();
  left.forEach(carryOutNow);
  pending.clear();
}

/** Sends what outlives the page. */
function carryOutNow(deletion: Deletion): void {
  const options = { method: 'DELETE', keepalive: true, headers: condition(deletion) };
  // The next page sees whether it was carried out.
  fetch(pathOf(deletion), options).catch(() => {});
}

/** Ctrl or ⌘ with Z undoes the last deletion, unless something is typed. */
function undoByKey(event: KeyboardEvent): void {
  if (commandLetter(event) !== 'z' || closest(event.target, 'input, textarea')) return;
  [...pending.values()].at(-1)?.take();
}

function deletionOf({ dataset: { id = '', etag = '' } }: HTMLElement): Deletion {
  return { feed: FEED, id, etag };
}

function pageOf({ feed, id }: Deletion): string {
  return `${ROOT}/${feed}/${encodeURIComponent(id)}`;
}

function pathOf({ feed, id }: Deletion): string {
  return `${ROOT}/api/v1/feeds/${feed}/notes/${encodeURIComponent(id)}`;
}

function condition({ etag }: Deletion): Record<string, string> {
  return { 'If-Match': etag };
}

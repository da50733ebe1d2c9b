import { feedOfPage } from '../keeping/feeds.ts';
import { ROOT } from '../page/elements.ts';
import { freshPage } from '../page/fresh.ts';
import { isUnanswered, RequestFailed, send, sendForEtag, sentenceOf } from '../page/send.ts';
import { LOGGING_OUT } from '../page/service.ts';
import { type Toast, toast } from '../page/toast.ts';
import { refresh } from './live.ts';
import { focusBeside, type NoteList } from './note-list.ts';
import { showDays } from './times.ts';

/** How long a deletion can be undone. */
const UNDO_MS = 10_000;
/** sessionStorage key: notes that were deleted on their own pages; the page of their feed offers to undo it. */
const HANDED_OVER = 'deleting';
/** sessionStorage key: deletions whose page was left. The feed's next page checks them, because the service may have been out of reach. */
const LEFT = 'deletions';
const CHANGED = 'The note was changed meanwhile, so it is not deleted.';
const UNANSWERED = 'The service did not answer, so the note may still exist. Please try again.';

interface Deletion {
  /** Tells the pages of other feeds that it is not theirs. */
  readonly feed: string;
  /** Of the note. */
  readonly id: string;
  /** The ETag of the note as the page showed it; empty while the page does not know it. */
  etag: string;
  /** What the page showed of the note that changes with an edit, as `timesOf` returns it. */
  readonly times?: string;
}

const FEED = feedOfPage();

/** Deletions that are carried out when their toasts end or the page is left. */
const pending = new Map<Deletion, Toast>();

/** Lets the notes of a list be deleted by their menus, and carries out a deletion that another page has handed over. */
export function startDeleting(list: NoteList): void {
  onDelete((note) => {
    const deletion = { feed: FEED, id: note.dataset.id!, etag: '', times: timesOf(note) };
    takeAway(deletion, note);
    // The page may not have heard of a change yet. It then shows the note again.
    void learnEtag(deletion).then(() => refresh(false));
  });
  document.addEventListener('keydown', undoByKey);
  addEventListener('pagehide', carryOutAll);
  // The browser sends no login any more when it leaves the page.
  addEventListener(LOGGING_OUT, carryOutAll);
  addEventListener('pageshow', ({ persisted }) => persisted && carryOutLeft());
  carryOutLeft();
  for (const deletion of take(HANDED_OVER)) takeAway(deletion, shown(deletion));

  function shown({ id }: Deletion): HTMLElement | undefined {
    return list.notes.find(({ dataset }) => dataset.id === id);
  }

  /** Deletes the notes again, because the service may not have heard of it. The page need not show them: it may be of a tag. */
  function carryOutLeft(): void {
    for (const deletion of take(LEFT)) void carryOutLater(deletion, shown(deletion));
  }

  /** If the page that was left did not know the ETag, deletes the note only if its times are still those that the page showed. */
  async function carryOutLater(deletion: Deletion, note?: HTMLElement): Promise<void> {
    if (deletion.etag === '') {
      const { status, page } = await freshPage(pageOf(deletion));
      const fresh = page?.querySelector<HTMLElement>('article.note');
      if (status !== 404 && !fresh) return spare(await failureOf(status), note);
      if (fresh && timesOf(fresh) !== deletion.times) return spare(new RequestFailed('', 'changed'), note);
      deletion.etag = fresh?.dataset.etag ?? '';
    }
    await carryOut(deletion, note);
  }

  /** @param note undefined if the page does not show it */
  function takeAway(deletion: Deletion, note?: HTMLElement): void {
    if (note !== undefined) {
      focusBeside(note);
      note.hidden = true;
      showDays(list.element);
      note.addEventListener('replaced', () => cancel(deletion), { once: true });
    }
    const offer = {
      label: 'Undo',
      run: () => {
        pending.delete(deletion);
        if (note === undefined) location.assign(pageOf(deletion));
        else if (!bringBack(note)) toast('Somebody else has deleted the note.');
      },
      otherwise: () => void carryOut(deletion, note),
    };
    pending.set(deletion, toast('Deleted.', offer, UNDO_MS));
  }

  async function carryOut(deletion: Deletion, note?: HTMLElement): Promise<void> {
    pending.delete(deletion);
    try {
      await send({ method: 'DELETE', path: pathOf(deletion), headers: condition(deletion) });
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      if (error.code !== 'not_found') return spare(error, note);
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
  onDelete(({ dataset: { id = '', etag = '' } }) => {
    const deletion = { feed: FEED, id, etag };
    try {
      leave(HANDED_OVER, [deletion]);
    } catch {
      // Storage may be blocked.
      carryOutNow(deletion);
    }
    location.assign(`${ROOT}/${FEED}`);
  });
}

function onDelete(deleteNote: (note: HTMLElement) => void): void {
  document.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest('.menu [data-action=delete]') : null;
    const note = button?.closest<HTMLElement>('.note');
    if (note) deleteNote(note);
  });
}

/** Stores deletions for the next page of this feed. Throws if storage is blocked. */
function leave(key: string, deletions: Iterable<Deletion>): void {
  sessionStorage.setItem(key, JSON.stringify([...leftUnder(key), ...deletions]));
}

/** Takes the deletions that other pages of this feed have left. */
function take(key: string): Deletion[] {
  const all = leftUnder(key);
  const own = all.filter(({ feed }) => feed === FEED);
  if (own.length > 0)
    sessionStorage.setItem(key, JSON.stringify(all.filter((deletion) => !own.includes(deletion))));
  return own;
}

/** The deletions that pages of all feeds have left. */
function leftUnder(key: string): Deletion[] {
  try {
    return [...JSON.parse(sessionStorage.getItem(key) ?? '[]')];
  } catch {
    return [];
  }
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

/** Why the page of a note could not be read. A page without a note is that of a network which asks for a login. */
async function failureOf(status: number): Promise<RequestFailed> {
  if (status < 400 || status >= 500) return new RequestFailed('');
  const code = `status ${status}`;
  return new RequestFailed(await sentenceOf({ code, message: '' }), code);
}

function carryOutAll(): void {
  try {
    if (pending.size > 0) leave(LEFT, pending.keys());
  } catch {
    // Storage may be blocked. Then the next page cannot report a deletion that failed.
  }
  for (const [deletion, shown] of pending) {
    shown.close();
    carryOutNow(deletion);
  }
  pending.clear();
}

/** Sends what outlives the page. */
function carryOutNow(deletion: Deletion): void {
  const options = { method: 'DELETE', keepalive: true, headers: condition(deletion) };
  // The next page sees whether it was carried out.
  fetch(pathOf(deletion), options).catch(() => {});
}

/** Ctrl or ⌘ with Z undoes the last deletion, unless something is typed. */
function undoByKey({ key, ctrlKey, metaKey, shiftKey, target }: KeyboardEvent): void {
  if (key !== 'z' || !(ctrlKey || metaKey) || shiftKey) return;
  if (target instanceof Element && target.closest('input, textarea')) return;
  [...pending.values()].at(-1)?.take();
}

async function learnEtag(deletion: Deletion): Promise<void> {
  try {
    deletion.etag = (await sendForEtag({ method: 'GET', path: pathOf(deletion) })).etag;
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error;
  }
}

/**
 * When the note was last edited and when it expires, as a page shows it: edits of texts and of expiries change that. An edit of the
 * file by hand is not seen.
 */
function timesOf(note: HTMLElement): string {
  const footer = note.querySelector(':scope > .content > footer');
  const times = footer?.querySelectorAll<HTMLTimeElement>(':scope > time, :scope > .expires > time') ?? [];
  return [...times].map(({ dateTime }) => dateTime).join(' ');
}

function pageOf({ feed, id }: Deletion): string {
  return `${ROOT}/${feed}/${encodeURIComponent(id)}`;
}

function pathOf({ feed, id }: Deletion): string {
  return `${ROOT}/api/v1/feeds/${feed}/notes/${encodeURIComponent(id)}`;
}

function condition({ etag }: Deletion): Record<string, string> {
  return etag === '' ? {} : { 'If-Match': etag };
}

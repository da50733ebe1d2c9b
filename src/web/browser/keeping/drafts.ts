import { ROOT } from '../page/elements.ts';
import { inTime } from '../page/in-time.ts';
import { feedOfPage, forgetFeed } from './feeds.ts';
import { forgetPosts, type SentKeys, waiting } from './outbox.ts';
import { holdWindow, livingWindows, whileGone } from './window.ts';

/**
 * Drafts of notes in the browser's IndexedDB: one for each window and note, with its pictures. Keys hold no feed's name but its hash
 * (`draftKey` of `note-forms.ts`).
 */

/** What a draft is of. */
export interface Slot {
  /** Begins with `draft-`. */
  readonly feed: string;
  /** The note that is edited; empty for a new one. */
  readonly note: string;
}

/** A picture of a box, as a form sends it and a draft keeps it. */
export interface DraftPicture {
  readonly name: string;
  readonly alt: string;
  readonly file: Blob;
  /** It says where it was taken. */
  readonly holdsPosition: boolean;
}

export interface DraftContent extends SentKeys {
  /** Values of fields by name. */
  readonly fields: Readonly<Record<string, string>>;
  readonly pictures: readonly DraftPicture[];
  /** What an edit began with: the values then, and the ETag of the note. */
  readonly base?: { readonly fields: Readonly<Record<string, string>>; readonly etag: string };
}

export interface Draft extends DraftContent {
  /** When it was written last, ms since the epoch. */
  readonly at: number;
  /** A picture of it cannot be read now, and is left out: what is written next is without it. */
  readonly lacksPicture?: boolean;
}

/** As it is stored: the bytes of its pictures are apart, because they are written once. */
interface Stored extends Slot, Omit<Draft, 'pictures'> {
  readonly id: string;
  readonly window: string;
  readonly pictures: readonly (Omit<DraftPicture, 'file'> & { readonly file: number })[];
}

const DATABASE = 'drafts';
const PREFIX = 'draft-';
/** How long a form waits until what was written is deleted, ms. */
const PATIENCE_MS = 5_000;
const LOSES = 'Lock the feed? This browser then forgets the notes that you have not posted to it.';
/** sessionStorage key: the feed to forget once it is deleted, as `<key of its drafts>/<name>`. */
const LEAVING = 'leaving';

/** The database keys of the pictures that this page has stored or read. */
const storedFiles = new WeakMap<Blob, number>();
let database: Promise<IDBDatabase> | undefined;

/**
 * Stores the draft of this window. Once this returns, the browser stores it even if the page is left; `done` settles when it is stored.
 * Throws, or rejects `done`, if the browser blocks its database or has no room.
 */
export async function storeDraft(
  slot: Slot,
  content: DraftContent,
): Promise<{ readonly done: Promise<void> }> {
  const window = await holdWindow();
  const { drafts, files, commit, done } = await open();
  const id = idOf(slot, window);
  // A logout in another window may have deleted everything, and keys that were known may be those of other pictures since.
  const before = (await result(drafts.get(id))) as Stored | undefined;
  const storedKeys = new Set(before?.pictures.map(({ file }) => file));
  const keys = new Map<Blob, number>();
  // All pictures are written at the same time, because a page that is being left waits for this.
  const placed = content.pictures.map(async ({ file }) => {
    const known = storedFiles.get(file);
    const isStored = known !== undefined && storedKeys.has(known);
    keys.set(file, isStored ? known : ((await result(files.add(file))) as number));
  });
  await Promise.all(placed);
  const pictures = content.pictures.map(({ file, ...picture }) => ({ ...picture, file: keys.get(file)! }));
  drafts.put({ ...slot, ...content, id, window, at: Date.now(), pictures } satisfies Stored);
  const kept = new Set(keys.values());
  for (const key of storedKeys) if (!kept.has(key)) files.delete(key);
  commit();
  const stored = done.then(() => {
    for (const [file, key] of keys) storedFiles.set(file, key);
  });
  stored.catch(() => {});
  return { done: stored };
}

/** Takes the draft of this window or, if it has none, the newest one of a window that is gone, which becomes one of this window. */
export async function takeDraft(slot: Slot): Promise<Draft | undefined> {
  const own = await takeFrom(await holdWindow(), slot);
  if (own !== undefined) return own;
  for (const { feed, note, window } of await freeDrafts()) {
    if (feed !== slot.feed || note !== slot.note) continue;
    const taken = await whileGone(window, () => takeFrom(window, slot));
    if (taken !== undefined) return taken;
  }
  return oldDraft(slot);
}

/** Moves the draft of a window to this window, and returns it; undefined if that window has none. */
async function takeFrom(window: string, slot: Slot): Promise<Draft | undefined> {
  const own = await holdWindow();
  const { drafts, files, done } = await open();
  const taken = (await result(drafts.get(idOf(slot, window)))) as Stored | undefined;
  if (taken === undefined) return undefined;
  drafts.delete(taken.id);
  drafts.put({ ...taken, window: own, id: idOf(slot, own) });
  const pictures = taken.pictures.map(async (picture) => {
    const request = files.get(picture.file);
    // One that cannot be read does not keep the rest of the draft back.
    request.addEventListener('error', (event) => event.preventDefault());
    const file: Blob | undefined = await result(request).catch(() => undefined);
    if (file === undefined) return [];
    storedFiles.set(file, picture.file);
    return [{ ...picture, file }];
  });
  const read = (await Promise.all(pictures)).flat();
  await done;
  return { ...taken, pictures: read, lacksPicture: read.length < taken.pictures.length };
}

/** The drafts of edits that this window, or one that is gone, has; the newest first. */
export async function draftedEdits(): Promise<Slot[]> {
  const free = await freeDrafts();
  return free.filter(({ note }) => note !== '').map(({ feed, note }) => ({ feed, note }));
}

/** Deletes the draft of this window. */
export async function deleteDraft(slot: Slot): Promise<void> {
  const id = idOf(slot, await holdWindow());
  await deleteDrafts((draft) => draft.id === id);
}

/** Deletes the drafts of a feed, and its posts that wait, in all windows. Never fails. */
async function forgetWritten(feed: string, name: string): Promise<void> {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(feed)) localStorage.removeItem(key);
    await Promise.allSettled([deleteDrafts((draft) => draft.feed === feed), forgetPosts(`${ROOT}/${name}`)]);
  } catch {
    // Where nothing can be stored, nothing is.
  }
}

/**
 * Forgets this page's feed, its drafts and its posts that wait before a form is sent by a button with a name, because a page that is left
 * may not finish deleting. If that loses something, it asks first. Call it after all listeners that may prevent the sending.
 * @param feed key of its drafts
 */
export async function forgetBefore(event: SubmitEvent, feed: string): Promise<void> {
  event.preventDefault();
  const form = event.target as HTMLFormElement;
  const { name, value } = event.submitter as HTMLButtonElement;
  const loses = keepsWritten(feed, feedOfPage()).catch(() => false);
  if ((await inTime(loses, PATIENCE_MS).catch(() => true)) && !confirm(LOSES)) return;
  forgetFeed(feedOfPage());
  // `submit()` leaves out the name and value of the button that was pressed.
  form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
  await inTime(forgetWritten(feed, feedOfPage()), PATIENCE_MS).catch(() => {});
  HTMLFormElement.prototype.submit.call(form);
}

/** Whether this browser keeps drafts of a feed, or posts that wait. */
async function keepsWritten(feed: string, name: string): Promise<boolean> {
  if (Object.keys(localStorage).some((key) => key.startsWith(feed))) return true;
  if ((await waiting(`${ROOT}/${name}`)).length > 0) return true;
  const { drafts } = await open();
  return ((await result(drafts.getAll())) as Stored[]).some((draft) => draft.feed === feed);
}

/** Whether any draft is kept, also one that `oldDraft` would take. */
export async function hasDrafts(): Promise<boolean> {
  if (Object.keys(localStorage).some((key) => key.startsWith(PREFIX))) return true;
  const { drafts } = await open();
  return (await result(drafts.count())) > 0;
}

/**
 * Marks the feed of this page for `forgetMarked`, because its deletion may still fail.
 * @param feed key of its drafts
 */
export function markFeed(feed: string): void {
  try {
    sessionStorage.setItem(LEAVING, `${feed}/${feedOfPage()}`);
  } catch {
    // Then there are no drafts either.
  }
}

/** Forgets the feed that was marked, its drafts, and its posts that wait. */
export function forgetMarked(): void {
  try {
    const [feed = '', name = ''] = sessionStorage.getItem(LEAVING)?.split('/') ?? [];
    sessionStorage.removeItem(LEAVING);
    forgetFeed(name);
    if (feed.startsWith(PREFIX)) void forgetWritten(feed, name);
  } catch {
    // Then there are no drafts either.
  }
}

async function deleteDrafts(isMeant: (draft: Stored) => boolean): Promise<void> {
  const { drafts, files, commit, done } = await open();
  for (const draft of (await result(drafts.getAll())) as Stored[]) {
    if (!isMeant(draft)) continue;
    drafts.delete(draft.id);
    for (const { file } of draft.pictures) files.delete(file);
  }
  commit();
  await done;
}

/** A draft of the version that kept them in localStorage, which becomes one of this window. */
async function oldDraft(slot: Slot): Promise<Draft | undefined> {
  const kept = slot.note === '' ? localStorage.getItem(slot.feed) : null;
  if (kept === null) return undefined;
  const draft = { fields: JSON.parse(kept), pictures: [] };
  await (await storeDraft(slot, draft)).done;
  localStorage.removeItem(slot.feed);
  return { ...draft, at: Date.now() };
}

function idOf({ feed, note }: Slot, window: string): string {
  return [feed, note, window].join('/');
}

/** A transaction over both stores; `done` settles with it. */
async function open() {
  const transaction = await begin();
  const done = new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
  // A caller that does not wait for `done` gets the error of the request that failed.
  done.catch(() => {});
  return {
    drafts: transaction.objectStore('drafts'),
    files: transaction.objectStore('files'),
    /** Commits the transaction even if the page is left. No request may follow. */
    commit: () => transaction.commit(),
    done,
  };
}

/** The drafts of this window, and of windows that seem to be gone, the newest first. */
async function freeDrafts(): Promise<Stored[]> {
  const own = await holdWindow();
  const living = await livingWindows();
  const { drafts } = await open();
  const all = (await result(drafts.getAll())) as Stored[];
  const isFree = ({ window }: Stored) => window === own || living?.has(window) === false;
  return all.filter(isFree).sort((a, b) => b.at - a.at);
}

/** Opens the database once more if its connection was closed, as browsers do when they clear data or lack memory. */
async function begin(isSecond = false): Promise<IDBTransaction> {
  database ??= openDatabase();
  try {
    return (await database).transaction(['drafts', 'files'], 'readwrite');
  } catch (error) {
    // A failure may pass, such as one for want of room.
    database = undefined;
    if (isSecond || (error as DOMException).name !== 'InvalidStateError') throw error;
    return begin(true);
  }
}

async function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore('drafts', { keyPath: 'id' });
    request.result.createObjectStore('files', { autoIncrement: true });
  };
  const opened = await result(request);
  // Logging out in another window deletes the database.
  opened.onversionchange = () => {
    opened.close();
    database = undefined;
  };
  return opened;
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

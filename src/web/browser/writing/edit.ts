import { deleteDraft, draftedEdits, type Slot, takeDraft } from '../keeping/drafts.ts';
import { find, onActions, ROOT } from '../page/elements.ts';
import { defaultOf, isChanged, noteFields, valuesOf } from '../page/fields.ts';
import { freshPage } from '../page/fresh.ts';
import {
  type ApiRequest,
  isRefused,
  isUnanswered,
  RequestFailed,
  send,
  sendForEtag,
  UNREACHED,
} from '../page/send.ts';
import { toast } from '../page/toast.ts';
import { refresh } from '../reading/live.ts';
import { showTimes } from '../reading/times.ts';
import { type Box, boxFor, writingBox } from './box.ts';
import { freshForm, showMeanwhile, takeInTheirs } from './conflict.ts';
import { pictureReference } from './file-name.ts';
import { noteBody } from './note-body.ts';
import { formerOnly, noteHeaders, post } from './post.ts';
import { replacement } from './replacement.ts';

/** How long an edit is offered, ms. */
const OFFERED_MS = 15_000;

/** A picture of a note, as the API lists it. */
interface StoredPicture {
  readonly file: string;
  readonly name?: string;
  readonly size: number;
  readonly attached_to?: string;
}

/** The edit that is open: one at a time. */
let open: { readonly box: Box; readonly close: () => void } | undefined;
/** How many edits were asked for: only the last of them opens. */
let asked = 0;

/**
 * Opens the box in an article, in place of the text, and fills it with the note as the service has it now. The article has the
 * attribute `data-editing` until the box is closed.
 * @param url the note's page
 */
export async function editNote(article: HTMLElement, url: string): Promise<void> {
  if (article.dataset.editing !== undefined) return;
  if (open?.box.hasChanges()) {
    toast('Save or cancel the edit that is open first.');
    open.box.fields[0]!.focus();
    return;
  }
  open?.close();
  article.dataset.editing = '';
  asked += 1;
  const mine = asked;
  const { status, form } = await freshForm(url);
  if (form !== undefined && mine === asked) return start(article, url, form);
  giveBack(article);
  if (mine !== asked) return;
  toast(
    status === 404 ? 'This note was deleted meanwhile.' : 'The note cannot be read now. Please try again.',
  );
}

/**
 * Offers to go on with an edit that was not saved when its page was left. If the note was deleted since, the page of the feed offers to
 * put the draft into a new note.
 */
export async function offerEdits(): Promise<void> {
  const drafted = await draftedEdits().catch((): Slot[] => []);
  const isDrafted = ({ dataset }: HTMLElement) => drafted.some(({ note }) => note === dataset.id);
  const article = [...document.querySelectorAll<HTMLElement>('article.note')].find(isDrafted);
  const form = document.querySelector<HTMLFormElement>('#compose');
  const slot = drafted.find(({ feed }) => feed === form?.dataset.draft);
  if (article !== undefined) {
    const url = article.querySelector<HTMLAnchorElement>('.when')?.href;
    if (url && article.dataset.editing === undefined) offer(() => void editNote(article, url));
  } else if (form !== null && slot !== undefined) {
    const url = `${ROOT}/${form.dataset.feed}/${encodeURIComponent(slot.note)}`;
    const { status } = await freshPage(url);
    if (status === 200) offer(() => location.assign(url));
    if (status === 404) offerAnew(form, slot);
  }
}

function offer(run: () => void): void {
  toast('An edit of a note is not saved yet.', { label: 'Go on', run }, OFFERED_MS);
}

function offerAnew(form: HTMLFormElement, slot: Slot): void {
  const run = () => void putAnew(form, slot);
  toast('A note was deleted before its edit was saved.', { label: 'Write it anew', run }, OFFERED_MS);
}

/** Puts the draft of an edit whose note is gone into the box for new notes. */
async function putAnew(form: HTMLFormElement, slot: Slot): Promise<void> {
  const box = boxFor(form);
  const isFree = () => box?.hasChanges() === false;
  const draft = isFree() ? await takeDraft(slot) : undefined;
  // While the draft was read, somebody may have written a note that is being sent now. The box is emptied once that note is stored.
  if (box === undefined || !isFree()) {
    toast('Post what is in the box first, or clear it.');
    return;
  }
  if (draft === undefined) return;
  // When the note would have expired says nothing of a new one.
  const { expires: _, alt = '', ...fields } = draft.fields;
  const isPicture = fields.text === undefined;
  // A picture that was chosen in place of the note's is as it was chosen: not shrunk, and nobody has looked for its position.
  const chosen = draft.pictures.map(({ file, name }) => new File([file], name, { type: file.type }));
  // If no other picture was chosen, the alternative text is all that can be posted.
  const text = fields.text ?? (chosen.length === 0 ? alt : '');
  const pictures = isPicture ? [] : draft.pictures;
  box.restore({ fields: { ...fields, text }, pictures, ...formerOnly(draft) });
  box.text!.focus();
  if (isPicture) box.pictures?.add(chosen, alt);
  const problem = await box.pictures?.settle();
  if (!problem && (await box.draft.changed())) await deleteDraft(slot);
}

function start(article: HTMLElement, url: string, form: HTMLFormElement): void {
  const { feed = '', id = '', identity = '' } = form.dataset;
  const path = `${ROOT}/api/v1/feeds/${feed}/notes/${encodeURIComponent(id)}`;
  find(article, '.content').append(form);
  let basis = basisOf();
  const box = writingBox(form, { note: id, base: () => basis, onRestore, onEscape: leave });
  const { status, draft, text } = box;
  const picture = replacement(form);
  /** What was sent last may be saved, because its answer was lost. */
  let isUnsure = false;
  const edit = { box, close: abandon };
  const watch = new MutationObserver(() => {
    find(form, '.status').textContent =
      'Somebody else has changed this note meanwhile. Saving yours shows you theirs first.';
  });
  watch.observe(article, { attributeFilter: ['data-changed'] });
  open = edit;
  onActions(form, {
    close: leave,
    theirs: chosen(() => void finish('Theirs was kept.')),
    mine: chosen(() => form.requestSubmit()),
    repost: chosen(() => void repost()),
    leave: chosen(() => void finish('The note is gone.')),
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void save();
  });
  void draft.restore().then((isBack) => {
    // The browser can take seconds to read a draft, so somebody may be writing already.
    if (form.contains(document.activeElement)) return;
    box.fields[0]!.focus();
    if (!isBack) text?.setSelectionRange(text.value.length, text.value.length);
  });

  /**
   * Handles a click on one of the buttons of a conflict. It ignores the second click of a double click, because that may meet another
   * change, and clicks while a request runs.
   */
  function chosen(run: () => void): (event: MouseEvent) => void {
    return ({ detail }) => {
      if (detail <= 1 && form.ariaBusy !== 'true') run();
    };
  }

  /** What the note is like, as far as this edit knows. */
  function basisOf() {
    return { fields: valuesOf(noteFields(form), defaultOf), etag: form.dataset.etag ?? '' };
  }

  /** A draft is compared with the note that it was begun with, so that a change meanwhile is noticed when it is saved. */
  function onRestore(base: typeof basis): void {
    form.dataset.etag = base.etag;
    for (const field of box.fields)
      if (!(field instanceof HTMLSelectElement))
        field.defaultValue = base.fields[field.name] ?? field.defaultValue;
    basis = basisOf();
  }

  async function save(): Promise<void> {
    // The person has not seen a draft that comes back only now, and may have closed the edit.
    if ((await draft.comesBack()) || open !== edit) return;
    if (!box.keepsAll()) return;
    const isSaved = await status.run(async (signal, onProgress) => {
      try {
        const changes = changedMembers();
        if (Object.keys(changes).length > 0) await write({ method: 'PATCH', json: changes, signal });
        const body = await content();
        // Last, because pictures that came with a text must not be sent twice.
        if (body !== undefined) await write({ method: 'PUT', ...body, signal, onProgress });
      } catch (error) {
        if (isUnanswered(error)) isUnsure = true;
        if (!isRefused(error, 'changed', 'not_found')) throw error;
        // While nothing can be pressed, because Save has another meaning afterwards.
        if (await meetsOther()) throw new RequestFailed('');
      }
      return '';
    });
    if (isSaved) await finish('Saved.');
    else if (find(form, '.error').textContent !== '')
      find(form, '.error').scrollIntoView({ block: 'nearest' });
  }

  /** Changes the note if it is still the one that this edit knows. */
  async function write(request: Omit<ApiRequest, 'path'>): Promise<void> {
    const headers = { ...request.headers, 'If-Match': form.dataset.etag ?? '' };
    form.dataset.etag = (await sendForEtag({ ...request, path, headers })).etag;
  }

  /** All but the content, if it differs from the note. */
  function changedMembers(): Record<string, string | string[]> {
    const changed = box.fields.filter((field) => field !== text && isChanged(field));
    return Object.fromEntries(
      changed.map(({ name, value }) => [name, name === 'tags' ? value.split(',') : value]),
    );
  }

  /**
   * The content to send; undefined if it is unchanged.
   * @param isNew also an unchanged text, for a note of its own
   */
  async function content(isNew = false): Promise<Pick<ApiRequest, 'headers' | 'body'> | undefined> {
    if (text === null) return picture();
    const problem = await box.pictures?.settle();
    if (problem) throw new RequestFailed(`${problem} Save again to save the note as it is now.`);
    const hasPictures = (box.pictures?.now() ?? []).length > 0;
    if (!isChanged(text) && !hasPictures && !isNew) return undefined;
    // The tags are for the new pictures.
    const { tags = '' } = valuesOf(box.fields);
    return { headers: hasPictures && !isNew ? noteHeaders({ tags }) : {}, body: noteBody(box, true) };
  }

  /**
   * Shows what became of the note meanwhile, and what can be done about it. Returns false if the change of somebody else is this one.
   * @throws RequestFailed if the note cannot be read now
   */
  async function meetsOther(): Promise<boolean> {
    const before = text?.defaultValue;
    // `basis` stays as it was, because the person has not chosen yet: if the page is left now, the restored draft meets the conflict again.
    const isThere = await takeInTheirs(form, url);
    draft.changed();
    const stored = isThere ? await storedPictures() : new Map<string, string>();
    const arePicturesStored = (box.pictures?.now() ?? []).every(({ name }) => stored.has(name));
    if (isThere && isUnsure && isStored(before) && arePicturesStored) return false;
    // Otherwise they would be stored once more with mine.
    for (const [name, file] of stored) box.pictures?.takeStored(name, file);
    showMeanwhile(form, isThere ? 'changed' : 'deleted');
    return true;
  }

  /**
   * Whether the note is as it is here, but for the names that the service gives to pictures.
   * @param before the text that was known: while the note still has it, no other text was stored
   */
  function isStored(before: string | undefined): boolean {
    if (text === null || box.fields.some((field) => field !== text && isChanged(field))) return false;
    const pictures = box.pictures?.now() ?? [];
    if (!isChanged(text) && pictures.length === 0) return true;
    const sent = isChanged(text) ? text.value : before!;
    // The service adds pictures that the text does not show to its end, without their alternative texts.
    const added = pictures.filter(({ name }) => !sent.includes(pictureReference(name, '').slice(2))).length;
    const stored = withoutNames(text.defaultValue).replace(new RegExp(`(\\s*!\\[\\]){${added}}$`), '');
    return text.defaultValue !== before && stored.trimEnd() === withoutNames(sent).trimEnd();
  }

  /**
   * Finds pictures of the box that this note has already, because the answer to an earlier save was lost. Returns the file of each by
   * its name in the box.
   * It compares sizes, too, because somebody else may have added a picture of the same name. Returns nothing if the service does not
   * answer, so that the person sees the conflict.
   */
  async function storedPictures(): Promise<Map<string, string>> {
    const pictures = box.pictures?.now() ?? [];
    if (pictures.length === 0) return new Map();
    const notesPath = `${ROOT}/api/v1/feeds/${feed}/notes?limit=100`;
    const request = { method: 'GET', path: notesPath } as const;
    const answer = await send<{ notes: StoredPicture[] }>(request).catch(() => undefined);
    const stored = answer?.notes.filter(({ attached_to }) => attached_to === id) ?? [];
    const sizes = new Map(pictures.map(({ name, file }) => [name, file.size]));
    const same = stored.filter(({ name = '', size }) => sizes.get(name) === size);
    return new Map(same.map(({ name = '', file }) => [name, file]));
  }

  /** Posts what was written as a note of its own, because the note that it was for is gone. */
  async function repost(): Promise<void> {
    let posted = '';
    const isPosted = await status.run(async (signal, onProgress) => {
      const sent = await content(true);
      if (sent?.body === undefined) throw new RequestFailed('Choose a picture to post.');
      if (!(await box.mayPost())) throw new RequestFailed(UNREACHED);
      const { alt = '', expires = '', ...values } = valuesOf(box.fields);
      const headers = {
        ...sent.headers,
        ...noteHeaders({ ...values, expires: /^\d/.test(expires) ? expires : '' }),
        ...(alt !== '' && { 'X-Note-Alt': alt }),
        ...box.keyHeader(),
      };
      posted = (await post({ feed, identity, headers, body: sent.body }, { signal, onProgress })).id;
      return '';
    });
    if (!isPosted) return;
    close();
    await draft.clear();
    location.assign(`${ROOT}/${feed}/${encodeURIComponent(posted)}`);
  }

  /** Closes the edit; asks if that loses something. */
  function leave(): void {
    if (box.hasChanges() && !confirm('Close this edit? What you changed is not saved.')) return;
    abandon();
    void draft.clear();
    find<HTMLElement>(article, 'summary').focus();
  }

  function abandon(): void {
    close();
    giveBack(article);
  }

  function close(): void {
    watch.disconnect();
    box.close();
    form.remove();
    delete article.dataset.editing;
    if (open === edit) open = undefined;
  }

  /** Shows the note as it is now in place of the edit. */
  async function finish(sentence: string): Promise<void> {
    // What is typed from now on would be in no note and no draft.
    form.inert = true;
    box.close();
    await draft.clear();
    // Not sooner, because the list replaces a note that nobody edits.
    close();
    const shown = await asItIsNow(article);
    // The address of a replaced picture stays, and browsers keep what they have loaded from it.
    if (text === null)
      for (const image of shown?.querySelectorAll('img') ?? []) image.src += `?${Date.now()}`;
    shown?.focus();
    toast(sentence);
  }
}

/** Ends an edit without a change. The list, which has left the note alone, may have to change or remove it now. */
function giveBack(article: HTMLElement): void {
  delete article.dataset.editing;
  if (article.closest('#notes') !== null) void asItIsNow(article);
}

function withoutNames(text: string): string {
  return text.replaceAll(/(!\[[^\]]*\])\([^)]*\)/g, '$1');
}

/** Brings an article up to date. Returns the one that is there then; null if there is none. */
async function asItIsNow(article: HTMLElement): Promise<HTMLElement | null> {
  const list = article.closest<HTMLElement>('#notes');
  if (list !== null) {
    // The list may know this version already, but it leaves a note alone that is edited.
    list.dataset.version = '';
    await refresh(false);
  } else {
    const { page } = await freshPage();
    const fresh = page?.getElementById(article.id);
    if (fresh) {
      article.replaceWith(fresh);
      showTimes(fresh);
    }
  }
  return document.getElementById(article.id);
}

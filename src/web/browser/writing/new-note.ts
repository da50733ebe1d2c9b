import type { DraftContent } from '../keeping/drafts.ts';
import { keepForLater } from '../keeping/outbox.ts';
import { forgetPrefill, prefill } from '../keeping/prefill.ts';
import type { SharedContent } from '../keeping/shared.ts';
import { showWaiting } from '../keeping/waiting.ts';
import { find, ROOT } from '../page/elements.ts';
import { valuesOf } from '../page/fields.ts';
import { forFeed, isRefused, isUnanswered, RequestFailed, UNREACHED } from '../page/send.ts';
import { toast } from '../page/toast.ts';
import { refresh } from '../reading/live.ts';
import { type Box, writingBox } from './box.ts';
import { pictureReference } from './file-name.ts';
import { noteBody } from './note-body.ts';
import { explainOutdated } from './outdated.ts';
import { noteHeaders, post, postPath } from './post.ts';

/** Lets notes be written and posted in the form `#compose`, and brings back the draft of this window. */
export function newNote(form: HTMLFormElement): Box {
  const box = writingBox(form, { onEscape: leave });
  const { text, status, draft } = box;
  const path = postPath(form.dataset.feed ?? '');
  let isKept = false;
  /** What the address brought, if it is in the box and the address still has it. */
  let held: SharedContent | undefined;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void submit();
  });
  showWaiting(path, {
    isEmpty: () => !box.hasChanges(),
    takesPictures: box.pictures !== undefined,
    fill(content) {
      box.restore(withReference(content));
      text!.focus();
      return draft.changed();
    },
    sent: () => void showSent(),
  });
  void draft.restore().then(fillFromAddress);
  return box;

  /** Puts into the box what the address of the page brings. */
  async function fillFromAddress(): Promise<void> {
    const brought = await prefill();
    if (brought === undefined) return;
    if (box.hasChanges()) {
      toast('The box holds a draft: post or clear it, then load this page again to add what was shared.');
      return;
    }
    if (brought.files.length > 0 && !box.pictures) {
      const run = () => location.assign(`${ROOT}/?shared=1`);
      toast('This feed takes no pictures, so what was shared is kept for another one.', {
        label: 'Choose a feed',
        run,
      });
      return;
    }
    box.fill(brought);
    held = brought;
    // The page may be left while large pictures are prepared.
    await box.pictures?.settle();
    if (await draft.changed()) await forgetBrought();
  }

  async function forgetBrought(): Promise<void> {
    if (held === undefined) return;
    const brought = held;
    held = undefined;
    await forgetPrefill(brought);
  }

  /** Shows notes that had waited to be sent. */
  async function showSent(): Promise<void> {
    if (isOfEmptyFeed() && !box.hasChanges()) location.reload();
    else await refresh();
  }

  async function submit(): Promise<void> {
    // The person has not seen a draft that is put before the text only now.
    if (await draft.comesBack()) return;
    if (!box.keepsAll()) return;
    const problem = await box.pictures?.settle();
    if (problem) return status.fail(`${problem} Post again to post the note as it is now.`);
    const body = noteBody(box);
    if (body === undefined) {
      status.fail(box.pictures ? 'Write something, or add a picture.' : 'Write something.');
      text!.focus();
      return;
    }
    isKept = false;
    // The note may show before its answer has come.
    const isFirst = isOfEmptyFeed();
    if (!(await status.run(send)))
      return find<HTMLElement>(form, '.error, .outdated').scrollIntoView({ block: 'nearest' });
    box.discard();
    await draft.clear();
    // Where no draft is kept, it is there until now.
    await forgetBrought().catch(() => {});
    if (!isKept) await showPosted(isFirst);

    async function send(signal: AbortSignal, onProgress?: (part: number) => void): Promise<string> {
      const { feed = '', identity = '' } = form.dataset;
      const password = form.querySelector<HTMLInputElement>('[name=password]')?.value ?? '';
      const mayPost = await box.mayPost();
      const headers = {
        ...noteHeaders(valuesOf(box.fields)),
        ...(password !== '' && { 'X-Feed-Password': password }),
        ...box.keyHeader(),
      };
      find<HTMLElement>(form, '.outdated').hidden = true;
      try {
        // The outbox asks again before it sends the post.
        if (!mayPost) throw new RequestFailed(UNREACHED);
        await post({ feed, identity, headers, body: body! }, { signal, onProgress });
      } catch (error) {
        if (isUnanswered(error) && !signal.aborted) {
          const formerKeys = box.formerKeys();
          const request = { path, headers: { ...headers, ...forFeed(identity) }, body: body!, formerKeys };
          isKept = await keepForLater(request);
        }
        if (isKept) return '';
        if (!isRefused(error, 'changed', 'auth')) throw error;
        if (!(await explainOutdated(form, status.fail))) throw error;
        throw new RequestFailed('Nothing was posted.');
      }
      return '';
    }
  }

  async function showPosted(isFirst: boolean): Promise<void> {
    if (isFirst) return location.reload();
    toast('Posted.');
    text!.focus();
    form.classList.remove('open');
    await refresh();
  }

  /** Whether the page shows a feed without notes. Such a page lacks parts, so it is loaded again after the first note. */
  function isOfEmptyFeed(): boolean {
    return document.querySelector('[data-empty-feed]') !== null;
  }

  /** An empty box becomes one line; another is left as it is. */
  function leave(): void {
    if (box.hasChanges()) (document.activeElement as HTMLElement).blur();
    else {
      text!.focus();
      form.classList.remove('open');
    }
  }
}

/** A picture that was posted alone is shown in the text again, like one that is added, because words may come to it. */
function withReference(content: DraftContent): DraftContent {
  const { fields, pictures } = content;
  const [only, ...others] = pictures;
  if (only === undefined || others.length > 0 || fields.text !== '') return content;
  return { ...content, fields: { ...fields, text: pictureReference(only.name, only.alt) } };
}

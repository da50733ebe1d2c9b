import { find, onActions } from '../page/elements.ts';
import { sentenceOf } from '../page/send.ts';
import { toast } from '../page/toast.ts';
import { REACHED } from '../reading/live.ts';
import type { DraftContent } from './drafts.ts';
import { onOutboxChange, STORED_BEFORE, sendWaiting, takeBack, type WaitingPost, waiting } from './outbox.ts';

/** What waits is tried again after so long, ms, the first time and later: nothing tells the page that its post would succeed now. */
const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [5_000, 10 * 60_000];
const LOSES_PICTURES = 'This feed takes no pictures now. Take the note back without them?';

interface Box {
  readonly isEmpty: () => boolean;
  readonly takesPictures: boolean;
  /** Resolves once the content is stored as a draft. */
  readonly fill: (content: DraftContent) => Promise<unknown>;
  /** Called after posts that waited here were sent. */
  readonly sent: () => void;
}

/**
 * Shows what waits to be sent to a feed, and sends it when the browser is online.
 * @param path to which the feed's posts go
 */
export function showWaiting(path: string, box: Box): void {
  const root = find<HTMLElement>(document, '#waiting');
  const list = find(root, 'ul');
  const template = find<HTMLTemplateElement>(root, 'template');
  let shownKeys = new Set<string>();
  const sent = new Set<string>();
  let retry: ReturnType<typeof setTimeout> | undefined;
  onOutboxChange((key) => {
    sent.add(key);
    void show();
  });
  for (const event of ['online', REACHED])
    addEventListener(event, () => {
      if (shownKeys.size > 0) void sendWaiting();
    });
  void show().then(() => shownKeys.size > 0 && sendWaiting());

  async function show(): Promise<void> {
    const posts = await waiting(path);
    const keys = new Set(posts.map(({ key }) => key));
    // A post that is gone and was not sent was taken back or forgotten, perhaps in another window.
    const left = [...shownKeys].filter((key) => !keys.has(key) && sent.has(key)).length;
    shownKeys = keys;
    clearTimeout(retry);
    if (posts.some(({ refusal }) => refusal === undefined)) retryIn(FIRST_RETRY_MS);
    root.hidden = posts.length === 0;
    list.replaceChildren(...posts.map(itemOf));
    if (left === 0) return;
    toast(
      left === 1 ? 'The note that was kept here is sent.' : `${left} notes that were kept here are sent.`,
    );
    box.sent();
  }

  /** Tries again after a failure, later each time. After a success the outbox has changed, so `show` decides whether anything waits. */
  function retryIn(ms: number): void {
    clearTimeout(retry);
    retry = setTimeout(async () => {
      if (document.hidden || !(await sendWaiting())) retryIn(Math.min(2 * ms, LONGEST_RETRY_MS));
    }, ms);
  }

  function itemOf(post: WaitingPost): HTMLElement {
    const { key, refusal } = post;
    const item = find<HTMLElement>(template.content, 'li').cloneNode(true) as HTMLElement;
    const pictures = post.parts.filter(([name]) => name === 'file').length;
    const state = find<HTMLElement>(item, '.error');
    void textOf(post).then((text) => {
      const title = post.headers['X-Note-Title'] ?? text.slice(0, 200);
      find(item, '.excerpt').textContent = title || (pictures === 1 ? 'A picture' : `${pictures} pictures`);
    });
    const explain = (sentence: string) => {
      state.textContent = `Not sent: ${sentence}`;
    };
    if (refusal?.code === STORED_BEFORE.code) explain(refusal.error);
    else if (refusal !== undefined)
      void sentenceOf({ code: refusal.code, message: refusal.error }).then(explain);
    onActions(item, {
      // If it is refused only after the button was pressed, nobody has seen why; nor before the second click of a double click.
      send: ({ detail }) => {
        if (detail <= 1) void sendNow(refusal && key);
      },
      'take-back': () => void back(key),
    });
    return item;
  }

  /** @param refused the key of a post to send although it was refused */
  async function sendNow(refused?: string): Promise<void> {
    if (!(await sendWaiting(refused)))
      toast('The service cannot be reached yet. What is kept here is sent when it can.');
  }

  async function back(key: string): Promise<void> {
    if (isFree())
      await takeBack(key, isFree, async (post) => {
        const content = await contentOf(post);
        // A note may have been written, and be on its way, since the last look. When it is stored, the box is emptied.
        if (!isFree()) return false;
        if (content.pictures.length > 0 && !box.takesPictures && !confirm(LOSES_PICTURES)) return false;
        await box.fill(content);
        return true;
      });
  }

  function isFree(): boolean {
    const isEmpty = box.isEmpty();
    if (!isEmpty) toast('Post what is in the box first, or clear it.');
    return isEmpty;
  }
}

async function contentOf(post: WaitingPost): Promise<DraftContent> {
  const { headers, parts } = post;
  const { 'X-Note-Title': title = '', 'X-Note-Tags': tags = '', 'X-Note-Expires': expires = '' } = headers;
  const altOf = (file: string) => String(parts.find(([name]) => name === `alt.${file}`)?.[1] ?? '');
  const files = parts.flatMap(([name, value]) => (name === 'file' && value instanceof File ? [value] : []));
  return {
    key: post.key,
    formerKeys: post.formerKeys,
    fields: { text: await textOf(post), title, tags, expires },
    pictures: files.map((file) => ({ name: file.name, file, alt: altOf(file.name), holdsPosition: false })),
  };
}

/** The text of a post; empty if it has only pictures. */
async function textOf({ parts }: WaitingPost): Promise<string> {
  const [, text = ''] = parts.find(([name]) => name === 'text') ?? [];
  return typeof text === 'string' ? text : text.text();
}

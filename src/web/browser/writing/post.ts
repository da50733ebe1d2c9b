import type { SentKeys } from '../keeping/outbox.ts';
import { ROOT } from '../page/elements.ts';
import { type ApiRequest, forFeed, send } from '../page/send.ts';
import { randomId } from '../page/text.ts';

/** A post as the boxes make it. */
interface Post {
  readonly feed: string;
  /** The identity of the feed that the post is for; empty if it makes the feed. */
  readonly identity: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: FormData | Blob;
}

interface Posted {
  readonly id: string;
  readonly file: string;
}

/** Sends a post of a page; posts that wait are sent by `outbox.ts`. Throws RequestFailed. */
export function post(note: Post, sent: Pick<ApiRequest, 'signal' | 'onProgress'>): Promise<Posted> {
  const headers = { ...note.headers, ...forFeed(note.identity) };
  return send<Posted>({
    method: 'POST',
    path: postPath(note.feed),
    headers,
    body: note.body,
    ...sent,
  });
}

/** Where a post to a feed goes. */
export function postPath(feed: string): string {
  return `${ROOT}/${feed}`;
}

/** The `Idempotency-Key` of what is in a form: the same until that is changed, so that it is posted once. */
export function postKey(form: HTMLFormElement) {
  let sent: SentKeys = {};
  form.addEventListener('reset', () => set({}));
  form.addEventListener('input', () => {
    // The only input during an upload is a chosen file, which the box refuses: what is being sent stays the same.
    if (form.ariaBusy !== 'true') change();
  });
  return { header, now: () => sent, set, change };

  function header() {
    sent = { ...sent, key: sent.key ?? randomId() };
    return { 'Idempotency-Key': sent.key! };
  }

  function set(known: SentKeys): void {
    sent = known;
  }

  /** Called when the content changes: the new content was not sent yet. */
  function change(): void {
    sent = formerOnly(sent);
  }
}

/** The keys after the content was changed: the current one becomes a former one. */
export function formerOnly({ key, formerKeys = [] }: SentKeys): SentKeys {
  return { formerKeys: key === undefined ? formerKeys : [...formerKeys, key] };
}

/** The keys after two contents, each of which may be stored, became one. */
export function bothFormer(...contents: readonly SentKeys[]): SentKeys {
  return { formerKeys: contents.flatMap((keys) => formerOnly(keys).formerKeys ?? []) };
}

/** Headers for title, tags and expiry of a note. Blank values are left out. */
export function noteHeaders(values: Readonly<Record<string, string>>): Record<string, string> {
  const headers = {
    'X-Note-Title': values.title,
    'X-Note-Tags': values.tags,
    'X-Note-Expires': values.expires,
  };
  const trimmed = Object.entries(headers).map(([name, value = '']) => [name, value.trim()]);
  return Object.fromEntries(trimmed.filter(([, value]) => value !== ''));
}

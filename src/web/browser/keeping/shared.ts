import { createStore, del, get, set } from 'idb-keyval';

/** Content for the box that a link, a bookmarklet or another app has given. */
export interface SharedContent {
  readonly text: string;
  readonly title: string;
  /** Separated by commas. */
  readonly tags: string;
  readonly files: readonly File[];
}

const KEY = 'shared';
const store = createStore(KEY, KEY);

/** Keeps what another app shared, as the form of the manifest's `share_target`, until it is in a box. */
export function keepShared(form: FormData): Promise<void> {
  const field = (name: string) => String(form.get(name) ?? '').trim();
  const [text, url] = [field('text'), field('url')];
  const files = form.getAll('files').filter((value) => value instanceof File);
  const shared: SharedContent = {
    title: field('title'),
    // Many apps repeat the address in the text.
    text: text.includes(url) ? text : [text, url].filter(Boolean).join('\n\n'),
    tags: '',
    files,
  };
  return set(KEY, shared, store);
}

/** What another app shared last, if it is in no box yet. */
export function readShared(): Promise<SharedContent | undefined> {
  return get(KEY, store);
}

export function forgetShared(): Promise<void> {
  return del(KEY, store);
}

import { del, get, promisifyRequest, set } from 'idb-keyval';
import { randomId } from '../page/text.ts';
import { storeIn } from './store.ts';

/** Content for the box that a link, a bookmarklet or another app has given. */
export interface SharedContent {
  readonly text: string;
  readonly title: string;
  /** Separated by commas. */
  readonly tags: string;
  readonly files: readonly File[];
  /** Tells what another app shared from what it shares later. */
  readonly id?: string;
}

const KEY = 'shared';
const store = storeIn(KEY, KEY);

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
    id: randomId(),
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

/** Forgets what is in a box, in one transaction: another app may have shared something else since, which is in no box yet. */
export function forgetIfShared({ id }: SharedContent): Promise<void> {
  return store('readwrite', (kept) => {
    kept.get(KEY).onsuccess = ({ target }) => {
      const { result } = target as IDBRequest<SharedContent | undefined>;
      if (result?.id === id) kept.delete(KEY);
    };
    return promisifyRequest(kept.transaction);
  });
}

const PREFIX = 'draft-';
/** Where the draft of a feed is named whose deletion has been asked for; it lasts as long as the tab. */
const LEAVING = 'leaving';

/** What is kept of a form, by the names of its fields. */
type Fields = Readonly<Record<string, string>>;

/** The draft that the browser keeps of a note; it may not be allowed to, which loses nothing but the draft. */
export class Draft {
  readonly #key: string;

  /** @param key begins with `draft-` and does not name the feed */
  constructor(key: string) {
    this.#key = key;
  }

  read(): Fields {
    try {
      return JSON.parse(localStorage.getItem(this.#key) ?? '{}');
    } catch {
      return {};
    }
  }

  /** Keeps these fields; blank ones are none. */
  write(fields: Fields): void {
    const filled = Object.entries(fields).filter(([, value]) => value !== '');
    try {
      if (filled.length === 0) localStorage.removeItem(this.#key);
      else localStorage.setItem(this.#key, JSON.stringify(Object.fromEntries(filled)));
    } catch {}
  }

  forget(): void {
    this.write({});
  }
}

/** Forgets the drafts of all feeds. */
export function forgetAllDrafts(): void {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {}
}

/** Marks the draft of a feed to be forgotten, if the feed is in fact deleted. */
export function markDraft(key: string): void {
  try {
    sessionStorage.setItem(LEAVING, key);
  } catch {}
}

/** Removes the draft that `markDraft` has marked. */
export function forgetMarkedDraft(): void {
  try {
    const key = sessionStorage.getItem(LEAVING);
    if (key?.startsWith(PREFIX)) localStorage.removeItem(key);
    sessionStorage.removeItem(LEAVING);
  } catch {}
}

const PREFIX = 'draft-';
/** sessionStorage key: the draft to delete once its feed is deleted. */
const LEAVING = 'leaving';

/** Form values by field name. */
type Fields = Readonly<Record<string, string>>;

/** Draft in localStorage. If storage is blocked, drafts are silently not kept. */
export class Draft {
  readonly #key: string;

  /** @param key begins with `draft-` and does not contain the feed's name */
  constructor(key: string) {
    this.#key = key;
  }

  read(): Fields {
    return ignoreErrors(() => JSON.parse(localStorage.getItem(this.#key) ?? '{}')) ?? {};
  }

  /** Stores the fields that are not empty. */
  write(fields: Fields): void {
    const filled = Object.entries(fields).filter(([, value]) => value !== '');
    ignoreErrors(() => {
      if (filled.length === 0) localStorage.removeItem(this.#key);
      else localStorage.setItem(this.#key, JSON.stringify(Object.fromEntries(filled)));
    });
  }

  delete(): void {
    this.write({});
  }
}

export function deleteAllDrafts(): void {
  ignoreErrors(() => {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  });
}

/** Marks a draft for `deleteMarkedDraft`, because the deletion of its feed may still fail. */
export function markDraft(key: string): void {
  ignoreErrors(() => sessionStorage.setItem(LEAVING, key));
}

export function deleteMarkedDraft(): void {
  ignoreErrors(() => {
    const key = sessionStorage.getItem(LEAVING);
    if (key?.startsWith(PREFIX)) localStorage.removeItem(key);
    sessionStorage.removeItem(LEAVING);
  });
}

function ignoreErrors<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

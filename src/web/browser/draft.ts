/** Drafts of notes in the browser, and the script of the page for logging out, which deletes them. */

const PREFIX = 'draft-';
/** sessionStorage key: the draft to delete once its feed is deleted. */
const LEAVING = 'leaving';

/** Form values by field name. */
type Fields = Readonly<Record<string, string>>;

// Logging out deletes what was not posted.
document.addEventListener('submit', ({ target }) => {
  if (!(target instanceof HTMLFormElement) || !target.getAttribute('action')?.endsWith('/logout')) return;
  ignoreErrors(() => {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  });
});

/**
 * The draft in localStorage. If storage is blocked, drafts are silently not kept.
 * @param key begins with `draft-` and does not contain the feed's name
 */
export function readDraft(key: string): Fields {
  return ignoreErrors(() => JSON.parse(localStorage.getItem(key) ?? '{}')) ?? {};
}

/** Stores the fields that are not empty; deletes the draft if all are. */
export function writeDraft(key: string, fields: Fields): void {
  const filled = Object.entries(fields).filter(([, value]) => value !== '');
  ignoreErrors(() => {
    if (filled.length === 0) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(Object.fromEntries(filled)));
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

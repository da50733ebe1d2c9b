import type { FeedName } from '../feeds/names.ts';
import { escapeHtml } from '../read/html.ts';
import { page } from './page.ts';

export interface UnlockPage {
  readonly name: FeedName;
  /** The path of the instance, without a trailing slash. */
  readonly root: string;
  /** Where to go on to: a path of the feed. */
  readonly back: string;
  /** Why a password was refused, one sentence. */
  readonly problem?: string | undefined;
}

/** The page of a locked feed. It says nothing of what is in it. */
export function unlockPage({ name, root, back, problem }: UnlockPage): Buffer {
  return page(
    'This feed is locked',
    `<form method="post" action="${escapeHtml(`${root}/${name}/access`)}">
<input type="hidden" name="action" value="unlock">
<input type="hidden" name="back" value="${escapeHtml(back)}">
<p><label>Password of the feed <input type="password" name="password" required autocomplete="current-password"></label></p>
${problem === undefined ? '' : `<p role="alert">${escapeHtml(problem)}</p>`}
<p><button>Unlock</button></p>
</form>`,
  );
}

import type { FeedName } from '../feeds/names.ts';
import { passwordField } from './field.ts';
import { html } from './html.ts';
import { page } from './page.ts';
import type { Site } from './site.ts';

export interface UnlockPage {
  readonly name: FeedName;
  /** Where to go after unlocking: a path of the feed. */
  readonly back: string;
  /** Why a password was refused, one sentence. */
  readonly problem?: string | undefined;
}

/** The page of a locked feed. It reveals nothing about the feed. */
export function unlockPage(site: Site, { name, back, problem }: UnlockPage): Buffer {
  return page(site, {
    title: 'This feed is locked',
    main: html`<h1>This feed is locked</h1>
<p>It has a password of its own. This browser keeps it unlocked for a year, or until you lock it.</p>
<form method="post" action="${site.root}/${name}/access" class="narrow">
<input type="hidden" name="action" value="unlock">
<input type="hidden" name="back" value="${back}">
${passwordField({ name: 'password', label: 'Password of the feed', hasFocus: true, problem })}
<p class="actions"><button class="primary">Unlock</button></p>
</form>`,
  });
}

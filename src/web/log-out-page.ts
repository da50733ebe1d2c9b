import { html } from './html.ts';
import { page, script } from './page.ts';
import type { Site } from './site.ts';

/** The page at `/logout`. */
export function logOutPage(site: Site): Buffer {
  return page(site, {
    title: 'Log out',
    main: html`<h1>Log out</h1>
<form method="post" action="${site.root}/logout">
<p>What this browser keeps of notes that you have not posted is removed.</p>
<p class="actions"><button class="primary">Log out</button> <a class="button" href="${site.root}/">Stay</a></p>
</form>
${script(site, 'leave')}`,
  });
}

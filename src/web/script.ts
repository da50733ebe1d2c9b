import type { ScriptName } from './assets.ts';
import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** Starts a script when the page has been read; everything it imports is fetched at the same time. */
export function script(site: Site, name: ScriptName): Html {
  const { path, imports } = site.scripts[name];
  return html`${imports.map((imported) => html`<link rel="modulepreload" href="${imported}">`)}
<script type="module" src="${path}"></script>`;
}

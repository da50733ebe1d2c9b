import type { ScriptName } from './assets.ts';
import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** Starts a script when the page has been read. */
export function script(site: Site, name: ScriptName): Html {
  return html`<script type="module" src="${site.assets[name]}"></script>`;
}

import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** Starts a script when the page has been read. */
export function script(_site: Site, _name: 'live'): Html {
  return html``;
}

import { html } from './html.ts';

/** What the service does: a note goes in, a feed comes out, as a page and for feed readers. Colours are in `styles/start.css`. */
export const START_PICTURE = html`<svg class="story" viewBox="0 0 720 200" role="img" aria-label="A note goes into your feed; readers get it as a page and in their feed reader.">
<g transform="translate(40 36) rotate(-4 70 64)"><rect class="sheet" width="140" height="128" rx="14"/>
<path class="strong" d="M22 30h62"/><path class="line" d="M22 54h96M22 74h84M22 94h52"/></g>
<path class="way" d="M206 100h66M258 88l14 12-14 12"/>
<g transform="translate(300 40)"><rect class="mark-ground" width="120" height="120" rx="34"/>
<path class="waves" transform="scale(5)" d="M7 17.1h.1M6.5 12.6a4.7 4.7 0 0 1 4.7 4.7M6.5 8.3a9 9 0 0 1 9 9M15 6.2h3"/></g>
<path class="way" d="M446 82l52-26M484 51l15 4-5 15M446 118l52 26M494 130l5 15-15 4"/>
<g transform="translate(528 12)"><rect class="sheet" width="152" height="82" rx="12"/>
<circle class="dot" cx="24" cy="24" r="8"/><path class="strong" d="M42 24h56"/><path class="line" d="M18 46h116M18 62h88"/></g>
<g transform="translate(528 108)"><rect class="sheet" width="152" height="80" rx="12"/>
<path class="rss" d="M20 38a20 20 0 0 1 20 20M20 24a34 34 0 0 1 34 34M22 57h.1"/><path class="line" d="M74 26h58M74 42h46M74 58h58"/></g>
</svg>`;

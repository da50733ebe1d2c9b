import { type Html, html } from './html.ts';

/** A text to copy, with a button for it. `id` is its element, `what` completes "Copy". */
export function copyable(id: string, text: string, what: string): Html {
  return html`<div class="copyable">
<pre><code id="${id}">${text}</code></pre>
<button type="button" data-copy="${id}" aria-label="Copy ${what}">Copy</button>
</div>`;
}

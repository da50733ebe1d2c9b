import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** The feed that a curl command posts to. */
export interface PostedFeed {
  readonly base: string;
  readonly name: string;
  /** The feed has a password. */
  readonly isProtected: boolean;
}

/** A text to copy, with a button for it. `id` is its element, `what` completes "Copy". */
export function copyable(id: string, text: string, what: string): Html {
  return html`<div class="copyable">
<pre><code id="${id}">${text}</code></pre>
<button type="button" data-copy="${id}" aria-label="Copy ${what}">Copy</button>
</div>`;
}

/** A command that posts to the feed, with placeholders for passwords; nothing if only people who sign in may post. */
export function copyableCurl({ isLocked, hasPassword }: Site, feed: PostedFeed): Html | undefined {
  if (isLocked && !hasPassword) return undefined;
  const command = [
    "curl --data-binary 'Hello' -H 'Content-Type: text/markdown'",
    ...(isLocked ? ["-H 'Authorization: Bearer INSTANCE-PASSWORD'"] : []),
    ...(feed.isProtected ? ["-H 'X-Feed-Password: FEED-PASSWORD'"] : []),
    `${feed.base}/${feed.name}`,
  ];
  return copyable('curl-line', command.join(' '), 'the command');
}

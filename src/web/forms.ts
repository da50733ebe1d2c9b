import { type Child, type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** A form field with its label, hint and error. */
export interface Field {
  readonly name: string;
  /** Unique in the page; the name unless given. */
  readonly id?: string;
  readonly label: string;
  readonly type?: 'text' | 'password';
  readonly value?: string;
  readonly hint?: string | undefined;
  /** Why the input was refused, one sentence. */
  readonly problem?: string | undefined;
  readonly isRequired?: boolean;
  readonly hasFocus?: boolean;
  readonly maxLength?: number;
  readonly autocomplete?: 'off' | 'current-password' | 'new-password';
  /** Names and ids: a phone must not change them. */
  readonly isExact?: boolean;
}

export function field(of: Field): Child {
  const { name, id = name, label, type = 'text', value = '', autocomplete = 'off', hint, problem } = of;
  const describedBy = [hint && `${id}-hint`, problem && `${id}-error`].filter(Boolean).join(' ');
  const attributes = [
    of.maxLength !== undefined && html` maxlength="${of.maxLength}"`,
    of.isExact && html` autocapitalize="none" spellcheck="false"`,
    of.isRequired && html` required`,
    of.hasFocus && html` autofocus`,
    describedBy !== '' && html` aria-describedby="${describedBy}"`,
    problem !== undefined && html` aria-invalid="true"`,
  ];
  return html`<label for="${id}">${label}</label>
<input id="${id}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}"${attributes}>${problem && html`<p class="error" id="${id}-error" role="alert">${problem}</p>`}
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}`;
}

/** A required field for a password that exists. */
export function passwordField(of: Omit<Field, 'type' | 'isRequired'>): Child {
  return field({ type: 'password', autocomplete: 'current-password', isRequired: true, ...of });
}

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
    "curl -d 'Hello'",
    ...(isLocked ? ["-H 'Authorization: Bearer INSTANCE-PASSWORD'"] : []),
    ...(feed.isProtected ? ["-H 'X-Feed-Password: FEED-PASSWORD'"] : []),
    `${feed.base}/${feed.name}`,
  ];
  return copyable('curl-line', command.join(' '), 'the command');
}

import { type Child, type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** A form field with its label, hint and error. */
export interface Field {
  readonly name: string;
  /** Unique in the page; the name unless given. */
  readonly id?: string;
  readonly label: string;
  /** Of a password that must be typed. */
  readonly password?: 'current' | 'new';
  readonly value?: string;
  readonly hint?: string | undefined;
  /** Why the input was refused, one sentence. */
  readonly problem?: string | undefined;
  /** The page opens with the focus in it, as it does in a field with a problem. */
  readonly isFirst?: boolean;
  /** Further attributes. */
  readonly attributes?: Child;
}

/** Attributes of a field for a name or an id: a phone must not change what is typed. */
export const EXACT = html`autocapitalize="none" spellcheck="false"`;

export function field({ name, id = name, label, hint, problem, password, ...of }: Field): Html {
  const { value = '', isFirst = false, attributes } = of;
  const type = password
    ? html`type="password" autocomplete="${password}-password" required`
    : html`type="text" autocomplete="off"`;
  const describedBy = [hint && `${id}-hint`, problem && `${id}-error`].filter(Boolean).join(' ');
  return html`<label for="${id}">${label}</label>
<input id="${id}" name="${name}" value="${value}" ${type} ${attributes}${
    describedBy !== '' && html` aria-describedby="${describedBy}"`
  }${problem !== undefined && html` aria-invalid="true"`}${(isFirst || problem !== undefined) && html` autofocus`}>${problem && html`<p class="error" id="${id}-error" role="alert">${problem}</p>`}
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}`;
}

/** A form that posts its fields to a path. */
export function form(action: string, content: Child): Html {
  return html`<form method="post" action="${action}">
${content}
</form>`;
}

/**
 * A text to copy, with a button for it.
 * @param id of its element
 * @param what completes "Copy"
 * @param more buttons beside that one
 */
export function copyable(id: string, text: string, what: string, more?: Html): Html {
  return html`<div class="copyable">
<pre><code id="${id}">${text}</code></pre>
<button type="button" data-copy="${id}" aria-label="Copy ${what}">Copy</button>
${more}</div>`;
}

/** The feed that a curl command posts to. */
export interface PostedFeed {
  readonly base: string;
  readonly name: string;
  /** The feed has a password. */
  readonly isProtected?: boolean;
}

/**
 * A command that posts to the feed, with placeholders for passwords; nothing if only people who sign in may post.
 * @param above what stands above it
 */
export function copyableCurl(site: Site, feed: PostedFeed, above: Html): Html | undefined {
  if (!takesPrograms(site)) return undefined;
  const command = [
    "curl -d 'Hello'",
    ...(site.isLocked ? ["-H 'Authorization: Bearer INSTANCE-PASSWORD'"] : []),
    ...(feed.isProtected ? ["-H 'X-Feed-Password: FEED-PASSWORD'"] : []),
    `${feed.base}/${feed.name}`,
  ];
  return html`${above}
${copyable('curl-line', command.join(' '), 'the command')}`;
}

/** The command that installs `nf`; nothing if only people who sign in may post. */
export function copyableInstall(site: Site, base: string): Html | undefined {
  if (!takesPrograms(site)) return undefined;
  const command = `curl -fsS --create-dirs -o ~/.local/bin/nf ${base}/static/nf && chmod +x ~/.local/bin/nf`;
  return html`<p>Or install <code>nf</code>, which remembers your feeds and keeps their names out of the shell's history.
<code>nf --help</code> tells the rest.</p>
${copyable('install-line', command, 'the command that installs it')}`;
}

function takesPrograms(site: Site): boolean {
  return !site.isLocked || site.hasPassword;
}

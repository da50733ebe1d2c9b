import { type Child, html } from './html.ts';
import type { Site } from './site.ts';

/**
 * The way to sign in, which leads on to `next`, a path of this instance; nothing where nobody can. It is a link, because the
 * policy of pages lets no form lead to another site.
 */
export function signInButton(site: Pick<Site, 'root' | 'signInLabel'>, next: string): Child {
  const { root, signInLabel } = site;
  if (signInLabel === undefined) return undefined;
  const href = `${root}/api/oidc/start?${new URLSearchParams({ next })}`;
  return html`<p class="actions"><a class="button primary" href="${href}">Sign in with ${signInLabel}</a></p>`;
}

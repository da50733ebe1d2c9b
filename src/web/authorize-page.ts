import { signInButton } from './access-pages.ts';
import { html } from './html.ts';
import { PAGE_FIELDS, page } from './page.ts';
import type { Site } from './site.ts';

/** What the page at `/oauth/authorize` asks. */
interface AuthorizePage {
  readonly site: Site;
  readonly action: string;
  /** Name that the program claims to have; may be empty. */
  readonly client: string;
  /** Where the browser goes afterwards. */
  readonly redirectUri: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Path of this page, to return to after signing in; undefined if the visitor has a session. */
  readonly next: string | undefined;
  /** Why the last attempt was refused. */
  readonly problem?: string | undefined;
}

/** The page that asks whether a program may use the instance. */
export function authorizePage(asked: AuthorizePage): Buffer {
  const { site, action, client, redirectUri, fields, next, problem } = asked;
  const mustLogIn = next !== undefined;
  const { host } = new URL(redirectUri);
  return page(site, {
    title: 'Allow access?',
    main: html`<h1>Allow access?</h1>
<p><strong>${client === '' ? 'A program' : client}</strong> wants to use ${site.title}, and leads back to <strong>${host}</strong>.</p>
<p>It could post to, read, change and delete every feed whose name it is told. What it calls itself may be wrong: go on only if you have just added this service to it.</p>
${problem !== undefined && html`<p role="alert">${problem}</p>`}
${mustLogIn && signInButton(site, next)}
<form method="post" action="${action}">
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}
${
  mustLogIn &&
  site.hasPassword &&
  html`<p><label>Password of this instance <input type="password" name="password" autocomplete="current-password" autofocus></label></p>`
}
<p class="actions">${(!mustLogIn || site.hasPassword) && html`<button class="primary">Allow</button>`} <button name="deny" value="1">Deny</button></p>
</form>`,
  });
}

/** Header fields of that page: its form may also lead to the program's redirect URI. */
export function authorizePageFields(redirectUri: string): Record<string, string> {
  const { origin, hostname } = new URL(redirectUri);
  // A policy cannot name an IPv6 address.
  const target = hostname.startsWith('[') ? 'http:' : origin;
  const policy = PAGE_FIELDS['Content-Security-Policy'].replace(
    "form-action 'self'",
    `form-action 'self' ${target}`,
  );
  return { ...PAGE_FIELDS, 'Content-Security-Policy': policy, 'Cache-Control': 'private, no-store' };
}

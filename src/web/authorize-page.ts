import { html } from './html.ts';
import { PAGE_FIELDS, page } from './page.ts';
import { signInButton } from './sign-in-button.ts';
import type { Site } from './site.ts';

/** What the page at `/oauth/authorize` asks. */
export interface AuthorizePage {
  readonly site: Site;
  /** Where the form goes. */
  readonly action: string;
  /** As the program calls itself; empty without a name. */
  readonly client: string;
  /** Where its user goes back to. */
  readonly redirectUri: string;
  /** Sent with the form. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The path of this page, for who has to log in first; undefined for somebody who has. */
  readonly next: string | undefined;
  /** Why the last try was refused. */
  readonly problem?: string | undefined;
}

/** The page that asks whether a program may use the instance. */
export function authorizePage(asked: AuthorizePage): Buffer {
  const { site, action, client, redirectUri, fields, next, problem } = asked;
  const { host } = new URL(redirectUri);
  const name = client === '' ? 'A program' : client;
  const mayAllow = next === undefined || site.hasPassword;
  return page(site, {
    title: 'Allow access?',
    main: html`<h1>Allow access?</h1>
<p><strong>${name}</strong> wants to use ${site.title}, and leads back to <strong>${host}</strong>.</p>
<p>It could post to, read, change and delete every feed whose name it is told. What it calls itself may be wrong: go on only if you have just added this service to it.</p>
${problem !== undefined && html`<p role="alert">${problem}</p>`}
${next !== undefined && signInButton(site, next)}
<form method="post" action="${action}">
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}
${
  mayAllow &&
  next !== undefined &&
  html`<p><label>Password of this instance <input type="password" name="password" autocomplete="current-password" autofocus></label></p>`
}
<p class="actions">${mayAllow && html`<button class="primary">Allow</button>`} <button name="deny" value="1">Deny</button></p>
</form>`,
  });
}

/** The header fields of that page: its form may lead on to the address that the program has registered. */
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

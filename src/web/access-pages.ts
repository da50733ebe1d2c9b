import type { FeedName } from '../feeds/names.ts';
import type { SignInError } from '../sign-in/sign-in.ts';
import { copyableCurl, field } from './forms.ts';
import { type Child, html } from './html.ts';
import { PAGE_FIELDS, page, script } from './page.ts';
import type { Site } from './site.ts';

interface LoginPage {
  readonly base: string;
  /** Where to go after logging in: a path of this instance. */
  readonly next: string;
  /** Code from the query why the last attempt was refused; may be anything. */
  readonly error?: string | undefined;
  /** Seconds to wait, from the query; may be anything. */
  readonly retry?: string | undefined;
}

/** The page at `/login` of a locked instance. */
export function loginPage(site: Site, { base, next, error, retry }: LoginPage): string {
  const problem = error === undefined ? undefined : sentenceOf(site, error, retry);
  const isOfField = site.hasPassword && !(error !== undefined && Object.hasOwn(SIGN_IN_ERRORS, error));
  const curl = html`<h2>From a terminal</h2>
<p>Programs send the password with each request. Read links need none.</p>
${script(site, 'copy')}`;
  return page(site, {
    title: 'Log in',
    main: html`<h1>Log in</h1>
${problem !== undefined && !isOfField && html`<p class="error" role="alert">${problem}</p>`}
${signInButton(site, next)}
${site.hasPassword && passwordForm(site, next, isOfField ? problem : undefined)}
${copyableCurl(site, { base, name: 'my-secret-feed' }, curl)}`,
  });
}

/**
 * Starts a sign-in that leads to `next`, a path of this instance; nothing if sign-in is off. It is a link, because the
 * policy of pages lets no form lead to another site.
 */
function signInButton({ root, signInLabel }: Site, next: string): Child {
  if (signInLabel === undefined) return undefined;
  const href = `${root}/api/oidc/start?${new URLSearchParams({ next })}`;
  return html`<p class="actions"><a class="button primary" href="${href}">Sign in with ${signInLabel}</a></p>`;
}

function passwordForm(site: Site, next: string, problem: string | undefined): Child {
  const isOnly = site.signInLabel === undefined;
  return html`<p>${isOnly ? 'This instance has a password.' : 'Or with the password of this instance:'}</p>
<form method="post" action="${site.root}/api/login" class="narrow">
<input type="hidden" name="next" value="${next}">
${field({ name: 'password', label: 'Password', password: 'current', problem, attributes: isOnly && html`autofocus` })}
<p class="actions"><button${isOnly && html` class="primary"`}>Log in</button></p>
</form>`;
}

const SIGN_IN_ERRORS: Readonly<Record<SignInError, (label: string) => string>> = {
  sign_in_failed: () => 'Signing in did not work. Please try again.',
  not_allowed: (label) =>
    `Your account at ${label} may not use this instance: its e-mail address is not on the list, or not verified.`,
  sign_in_unavailable: (label) => `${label} cannot be reached right now. Please try again later.`,
};

/** The query is untrusted, so only a number from it is shown. */
function sentenceOf({ signInLabel }: Site, error: string, retry: string | undefined): string {
  if (signInLabel !== undefined && Object.hasOwn(SIGN_IN_ERRORS, error))
    return SIGN_IN_ERRORS[error as SignInError](signInLabel);
  if (error === 'auth') return 'That is not the password of this instance.';
  if (error !== 'too_many_attempts') return 'Logging in did not work. Please try again.';
  if (!/^\d{1,5}$/.test(retry ?? '')) return 'Too many wrong passwords: please wait a minute.';
  const seconds = Number(retry);
  return `Too many wrong passwords: please wait ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
}

/** The page at `/logout`. */
export function logOutPage(site: Site): string {
  return page(site, {
    title: 'Log out',
    main: html`<h1>Log out</h1>
<form method="post" action="${site.root}/logout">
<p>What this browser keeps of notes that you have not posted is removed.</p>
<p class="actions"><button class="primary">Log out</button> <a class="button" href="${site.root}/">Stay</a></p>
</form>
${script(site, 'draft')}`,
  });
}

/**
 * The page of a locked feed. It reveals nothing about the feed.
 * @param back where to go after unlocking: a path of the feed
 * @param problem why a password was refused, one sentence
 */
export function unlockPage(site: Site, name: FeedName, back: string, problem?: string): string {
  return page(site, {
    title: 'This feed is locked',
    main: html`<h1>This feed is locked</h1>
<p>It has a password of its own. This browser keeps it unlocked for a year, or until you lock it.</p>
<form method="post" action="${site.root}/${name}/access" class="narrow">
<input type="hidden" name="action" value="unlock">
<input type="hidden" name="back" value="${back}">
${field({ name: 'password', label: 'Password of the feed', password: 'current', problem, attributes: html`autofocus` })}
<p class="actions"><button class="primary">Unlock</button></p>
</form>`,
  });
}

interface AuthorizePage {
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

/** The page at `/oauth/authorize`, which asks whether a program may use the instance. */
export function authorizePage(site: Site, asked: AuthorizePage): string {
  const { action, client, redirectUri, fields, next, problem } = asked;
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

/** The content security policy of that page: its form may also lead to the program's redirect URI. */
export function authorizePolicy(redirectUri: string): string {
  const { origin, hostname } = new URL(redirectUri);
  // A policy cannot name an IPv6 address.
  const target = hostname.startsWith('[') ? 'http:' : origin;
  return PAGE_FIELDS['Content-Security-Policy'].replace("form-action 'self'", (own) => `${own} ${target}`);
}

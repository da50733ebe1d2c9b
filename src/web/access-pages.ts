import type { FeedName } from '../feeds/names.ts';
import type { SignInError } from '../sign-in/sign-in.ts';
import { copyableCurl, field } from './forms.ts';
import { type Child, type Html, html } from './html.ts';
import { PAGE_FIELDS, page, script, soleCard } from './page.ts';
import type { Site } from './site.ts';
import { wordsFor } from './words.ts';

interface LoginPage {
  readonly base: string;
  /** Where to go after logging in: a path of this instance. */
  readonly next: string;
  /** Code from the query why the last attempt was refused; may be anything. */
  readonly error?: string | undefined;
  /** Seconds to wait, from the query; may be anything. */
  readonly retry?: string | undefined;
  /** Name of the provider that the last attempt was with, from the query; may be anything. */
  readonly provider?: string | undefined;
}

/** The page at `/login` of a locked instance. */
export function loginPage(site: Site, { base, next, error, retry, provider }: LoginPage): string {
  const problem = error === undefined ? undefined : sentenceOf(site, error, { retry, provider });
  const isOfField = site.hasPassword && !(error !== undefined && Object.hasOwn(SIGN_IN_ERRORS, error));
  const command = copyableCurl(
    site,
    { base, name: 'my-secret-feed' },
    html`<p>Programs send the password with each request. Read links need none.</p>`,
  );
  return page(site, {
    title: 'Log in',
    main: html`${soleCard(
      'Log in',
      html`<p class="hint">You must log in to write here. Read links work without a login.</p>
${problem !== undefined && !isOfField && html`<p class="error" role="alert">${problem}</p>`}
${signInButtons(site, next)}
${site.hasPassword && passwordForm(site, next, isOfField ? problem : undefined)}`,
    )}
${
  command &&
  html`<details class="terminal"><summary>From a terminal</summary>
${command}</details>
${script(site, 'copy')}`
}
${script(site, 'reachable')}`,
  });
}

/**
 * Each starts a sign-in that leads to `next`, a path of this instance; none if sign-in is off. They are links, because the
 * policy of pages lets no form lead to another site.
 */
function signInButtons({ root, providers }: Site, next: string): Child {
  return providers.map(({ name, label }) => {
    const query = new URLSearchParams(name === '' ? { next } : { provider: name, next });
    return html`<p class="actions"><a class="button primary" href="${root}/api/oidc/start?${query.toString()}">Sign in with ${label}</a></p>\n`;
  });
}

function passwordForm(site: Site, next: string, problem: string | undefined): Child {
  const isOnly = site.providers.length === 0;
  return html`${!isOnly && html`<p class="or">or</p>`}
<form method="post" action="${site.root}/api/login">
<input type="hidden" name="next" value="${next}">
${instancePassword(problem, isOnly)}
<p class="actions"><button${isOnly && html` class="primary"`}>Log in</button></p>
</form>`;
}

function instancePassword(problem: string | undefined, isFirst: boolean): Html {
  return field({
    name: 'password',
    label: 'Password of this instance',
    password: 'current',
    problem,
    isFirst,
  });
}

const SIGN_IN_ERRORS: Readonly<Record<SignInError, (label: string) => string>> = {
  sign_in_failed: () => 'Signing in did not work. Please try again.',
  not_allowed: (label) =>
    `Your account at ${label} may not use this instance: its e-mail address is not on the list, or not verified.`,
  sign_in_unavailable: (label) => `${label} cannot be reached right now. Please try again later.`,
};

/** The query is untrusted, so only a number from it is shown. */
function sentenceOf(
  { providers }: Site,
  error: string,
  { retry, provider }: Pick<LoginPage, 'retry' | 'provider'>,
): string {
  if (providers.length > 0 && Object.hasOwn(SIGN_IN_ERRORS, error)) {
    const { label } = providers.find(({ name }) => name === provider) ?? providers[0]!;
    return SIGN_IN_ERRORS[error as SignInError](label);
  }
  return passwordProblem(error, retry);
}

/**
 * Why the password of the instance was not taken, one sentence or two.
 * @param error code from a query; it may be anything
 * @param retry seconds to wait, from a query; only a number is shown
 */
export function passwordProblem(error: string, retry: string | undefined): string {
  if (error === 'auth') return 'That is not the password of this instance.';
  return wordsFor(error, /^\d{1,5}$/.test(retry ?? '') ? Number(retry) : undefined);
}

/** The page at `/logout`. */
export function logOutPage(site: Site): string {
  return page(site, {
    title: 'Log out',
    main: html`${soleCard(
      'Log out',
      html`<p>This browser forgets your feeds, the notes that you have not posted, and what it keeps to read offline.
 Feeds that you have unlocked here stay unlocked until you lock them in their settings.</p>
<form method="post" action="${site.root}/logout">
<p class="actions"><button class="primary">Log out</button> <a class="button" href="${site.root}/">Stay</a></p>
</form>`,
    )}
${script(site, 'leave')}`,
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
    main: html`${soleCard(
      'This feed is locked',
      html`<p>It has a password of its own. This browser keeps it unlocked for a year, or until you lock it.</p>
<form method="post" action="${site.root}/${name}/access">
<input type="hidden" name="action" value="unlock">
<input type="hidden" name="back" value="${back}">
${field({ name: 'password', label: 'Password of the feed', password: 'current', problem, isFirst: true })}
<p class="actions"><button class="primary">Unlock</button></p>
</form>`,
    )}
${script(site, 'reachable')}`,
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
    main: soleCard(
      'Allow access?',
      html`<p class="lead"><strong><bdi>${client === '' ? 'A program' : client}</bdi></strong> wants to use ${site.title}.</p>
<dl>
<dt>What it could do</dt><dd>Post to, read, change and delete every feed whose name it is told.</dd>
<dt>Where it leads</dt><dd>Back to <strong>${host}</strong></dd>
</dl>
<p class="hint">The name may be false: go on only if you have just added this service to that program.</p>
${mustLogIn && signInButtons(site, next)}
${mustLogIn && site.providers.length > 0 && site.hasPassword && html`<p class="or">or</p>`}
<form method="post" action="${action}">
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}
${
  mustLogIn && site.hasPassword
    ? instancePassword(problem, true)
    : problem !== undefined && html`<p class="error" role="alert">${problem}</p>`
}
<p class="actions choice">${(!mustLogIn || site.hasPassword) && html`<button${!(mustLogIn && site.providers.length > 0) && html` class="primary"`}>Allow</button>`} <button name="deny" value="1" formnovalidate>Deny</button></p>
</form>`,
    ),
  });
}

/** The content security policy of that page: its form may also lead to the program's redirect URI. */
export function authorizePolicy(redirectUri: string): string {
  const { origin, hostname } = new URL(redirectUri);
  // A policy cannot name an IPv6 address.
  const target = hostname.startsWith('[') ? 'http:' : origin;
  return PAGE_FIELDS['Content-Security-Policy'].replace("form-action 'self'", (own) => `${own} ${target}`);
}

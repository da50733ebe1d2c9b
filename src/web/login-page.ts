import type { SignInError } from '../sign-in/sign-in.ts';
import { copyable } from './copyable.ts';
import { curlLine } from './curl-line.ts';
import { field } from './field.ts';
import { type Child, html } from './html.ts';
import { page } from './page.ts';
import { script } from './script.ts';
import { signInButton } from './sign-in-button.ts';
import type { Site } from './site.ts';

export interface LoginPage {
  /** Absolute base of links. */
  readonly base: string;
  /** Where to go on to: a path of this instance. */
  readonly next: string;
  /** Why the last try was refused: a code, of which the page knows some. */
  readonly error?: string | undefined;
  /** Seconds until another try counts, where the limit is the reason. */
  readonly retry?: string | undefined;
}

/** The page at `/login` of a locked instance. */
export function loginPage(site: Site, { base, next, error, retry }: LoginPage): Buffer {
  const problem = error === undefined ? undefined : sentenceOf(site, error, retry);
  const isOfField = site.hasPassword && !(error !== undefined && Object.hasOwn(SIGN_IN_ERRORS, error));
  return page(site, {
    title: 'Log in',
    main: html`<h1>Log in</h1>
${problem !== undefined && !isOfField && html`<p class="error" role="alert">${problem}</p>`}
${signInButton(site, next)}
${site.hasPassword && passwordForm(site, next, isOfField ? problem : undefined)}
${terminal(site, base)}`,
  });
}

function passwordForm(site: Site, next: string, problem: string | undefined): Child {
  const isOnly = site.signInLabel === undefined;
  return html`<p>${isOnly ? 'This instance has a password.' : 'Or with the password of this instance:'}</p>
<form method="post" action="${site.root}/api/login" class="narrow">
<input type="hidden" name="next" value="${next}">
${field({
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'current-password',
  isRequired: true,
  hasFocus: isOnly,
  problem,
})}
<p class="actions"><button${isOnly && html` class="primary"`}>Log in</button></p>
</form>`;
}

function terminal(site: Site, base: string): Child {
  const curl = curlLine(site, { base, name: 'my-secret-feed', isProtected: false });
  if (curl === undefined) return undefined;
  return html`<h2>From a terminal</h2>
<p>Programs send the password with each request. Read links need none.</p>
${copyable('curl-line', curl, 'the command')}
${script(site, 'copy')}`;
}

const SIGN_IN_ERRORS: Readonly<Record<SignInError, (label: string) => string>> = {
  sign_in_failed: () => 'Signing in did not work. Please try again.',
  not_allowed: (label) =>
    `Your account at ${label} may not use this instance: its e-mail address is not on the list, or not verified.`,
  sign_in_unavailable: (label) => `${label} cannot be reached right now. Please try again later.`,
};

/** What a code means to a person. Anybody can put anything into the address, so nothing of it is repeated but a number. */
function sentenceOf({ signInLabel }: Site, error: string, retry: string | undefined): string {
  if (signInLabel !== undefined && Object.hasOwn(SIGN_IN_ERRORS, error))
    return SIGN_IN_ERRORS[error as SignInError](signInLabel);
  if (error === 'auth') return 'That is not the password of this instance.';
  if (error !== 'too_many_attempts') return 'Logging in did not work. Please try again.';
  const seconds = /^\d{1,5}$/.test(retry ?? '') ? Number(retry) : undefined;
  if (seconds === undefined) return 'Too many wrong passwords: please wait a minute.';
  return `Too many wrong passwords: please wait ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
}

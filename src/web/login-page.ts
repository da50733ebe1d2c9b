import { copyable } from './copyable.ts';
import { curlLine } from './curl-line.ts';
import { field } from './field.ts';
import { html } from './html.ts';
import { page } from './page.ts';
import { script } from './script.ts';
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
  const problem = error === undefined ? undefined : sentenceOf(error, retry);
  const curl = curlLine(site, { base, name: 'my-secret-feed', isProtected: false });
  return page(site, {
    title: 'Log in',
    main: html`<h1>Log in</h1>
<p>This instance has a password.</p>
<form method="post" action="${site.root}/api/login" class="narrow">
<input type="hidden" name="next" value="${next}">
${field({
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'current-password',
  isRequired: true,
  hasFocus: true,
  problem,
})}
<p class="actions"><button class="primary">Log in</button></p>
</form>
<h2>From a terminal</h2>
<p>Programs send the password with each request. Read links need none.</p>
${copyable('curl-line', curl, 'the command')}
${script(site, 'copy')}`,
  });
}

/** What a code means to a person. Anybody can put anything into the address, so nothing of it is repeated but a number. */
function sentenceOf(error: string, retry: string | undefined): string {
  if (error === 'auth') return 'That is not the password of this instance.';
  if (error !== 'too_many_attempts') return 'Logging in did not work. Please try again.';
  const seconds = /^\d{1,5}$/.test(retry ?? '') ? Number(retry) : undefined;
  if (seconds === undefined) return 'Too many wrong passwords: please wait a minute.';
  return `Too many wrong passwords: please wait ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
}

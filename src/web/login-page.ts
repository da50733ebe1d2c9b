import { escapeHtml } from '../read/html.ts';
import { page } from './page.ts';

export interface LoginPage {
  readonly serviceTitle: string;
  /** The path of the instance, without a trailing slash. */
  readonly root: string;
  /** Where to go on to: a path of this instance. */
  readonly next: string;
  /** Why the last try was refused: a code, of which the page knows some. */
  readonly error?: string | undefined;
  /** Seconds until another try counts, where the limit is the reason. */
  readonly retry?: string | undefined;
}

/** The page at `/login` of a locked instance. */
export function loginPage({ serviceTitle, root, next, error, retry }: LoginPage): Buffer {
  const problem = error === undefined ? undefined : sentenceOf(error, retry);
  return page(
    serviceTitle,
    `<p>This instance has a password.</p>
<form method="post" action="${escapeHtml(root)}/api/login">
<input type="hidden" name="next" value="${escapeHtml(next)}">
<p><label>Password <input type="password" name="password" required autocomplete="current-password"></label></p>
${problem === undefined ? '' : `<p role="alert">${escapeHtml(problem)}</p>`}
<p><button>Log in</button></p>
</form>
<p>Programs send it with each request:</p>
<pre>curl --data-binary @note.md -H 'Content-Type: text/markdown' -H 'Authorization: Bearer PASSWORD' THIS-ADDRESS/my-secret-feed</pre>
<p>Read links need no password.</p>`,
  );
}

/** What a code means to a person. Anybody can put anything into the address, so nothing of it is repeated but a number. */
function sentenceOf(error: string, retry: string | undefined): string {
  if (error === 'auth') return 'That is not the password of this instance.';
  if (error !== 'too_many_attempts') return 'Logging in did not work. Please try again.';
  const seconds = /^\d{1,5}$/.test(retry ?? '') ? Number(retry) : undefined;
  if (seconds === undefined) return 'Too many wrong passwords: please wait a minute.';
  return `Too many wrong passwords: please wait ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
}

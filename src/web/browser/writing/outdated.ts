import { find } from '../page/elements.ts';
import { freshPage } from '../page/fresh.ts';

/**
 * Says what became of the feed that the page was made for, and offers what can be done about it. What is written stays in the form.
 * @param fail sets the error of the form
 * @returns false if it is still that feed
 */
export async function explainOutdated(
  form: HTMLFormElement,
  fail: (sentence: string) => void,
): Promise<boolean> {
  const { page } = await freshPage();
  const fresh = page?.querySelector<HTMLFormElement>('#compose') ?? undefined;
  if (fresh?.dataset.identity === form.dataset.identity) return false;
  const outdated = find<HTMLElement>(form, '.outdated');
  const button = find<HTMLButtonElement>(outdated, 'button');
  const link = find<HTMLAnchorElement>(outdated, 'a');
  const [sentence, label] = explanation(form, fresh);
  find(outdated, 'p').textContent = `${sentence} What you wrote is still here.`;
  button.textContent = label;
  button.hidden = label === '';
  button.onclick = () => {
    outdated.hidden = true;
    fail('');
    renew(form, fresh);
  };
  link.href = location.pathname;
  outdated.hidden = false;
  return true;
}

function explanation(form: HTMLFormElement, fresh?: HTMLFormElement): [sentence: string, label: string] {
  if (fresh === undefined)
    return ['You may not post to this feed now: it got a password, or you were logged out.', ''];
  if (fresh.dataset.identity === '')
    return ['This feed was deleted since you opened the page.', 'Make the feed anew'];
  const label = 'Post it to the feed as it is now';
  if (form.dataset.identity === '')
    return ['Somebody has made this feed since you opened the page, so it can get no password here.', label];
  return [
    'This is another feed than the one that the page showed: it was deleted and made again, or got another read link.',
    label,
  ];
}

/** Makes the form one for the feed as it is now. A feed to be made may get a password first. */
function renew(form: HTMLFormElement, fresh?: HTMLFormElement): void {
  form.dataset.identity = fresh?.dataset.identity ?? '';
  form.querySelector('[data-empty-feed]')?.remove();
  const protection = fresh?.querySelector('[data-empty-feed]');
  if (protection) {
    find(form, '.options').append(protection);
    find<HTMLInputElement>(form, '[name=password]').focus();
  } else form.requestSubmit();
}

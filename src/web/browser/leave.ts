import { forgetAllDrafts } from './draft.ts';

// On the page that logs out: what was not posted goes with the session.
document.addEventListener('submit', ({ target }) => {
  if (target instanceof HTMLFormElement && target.getAttribute('action')?.endsWith('/logout'))
    forgetAllDrafts();
});

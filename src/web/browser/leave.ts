import { deleteAllDrafts } from './draft.ts';

// Logging out deletes what was not posted.
document.addEventListener('submit', ({ target }) => {
  if (target instanceof HTMLFormElement && target.getAttribute('action')?.endsWith('/logout'))
    deleteAllDrafts();
});

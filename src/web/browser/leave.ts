import { forgetAll, keepsDrafts } from './keeping/forget-all.ts';
import { ROOT } from './page/elements.ts';
import { isReachable, LOGGING_OUT } from './page/service.ts';
import { toast } from './page/toast.ts';

const LOG_OUT = `${ROOT}/logout`;

// Logging out forgets what this browser keeps. With drafts in it, the page for that asks first.
document.addEventListener('submit', async (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.getAttribute('action') !== LOG_OUT) return;
  event.preventDefault();
  if (!(await isReachable())) {
    toast('The service cannot be reached, so you are still logged in, and nothing is forgotten.');
    return;
  }
  if (location.pathname !== LOG_OUT && (await keepsDrafts())) return location.assign(LOG_OUT);
  dispatchEvent(new Event(LOGGING_OUT));
  await forgetAll();
  // This fires no other `submit` event.
  form.submit();
});

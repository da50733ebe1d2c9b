import './page/older.ts';
import { isReachable } from './page/service.ts';
import { toast } from './page/toast.ts';

// A form that the browser sends by itself is sent only while the service can be reached, because the browser's own error page
// would take the place of what was typed.

/** Forms that are being sent, because the service was reachable. */
const sent = new WeakSet<HTMLFormElement>();

// Listens at the window, because listeners on the document run first and may prevent the default.
addEventListener('submit', async (event) => {
  const { target: form, submitter } = event;
  if (event.defaultPrevented || !(form instanceof HTMLFormElement) || form.method !== 'post') return;
  if (sent.delete(form)) return;
  event.preventDefault();
  if (!(await isReachable())) {
    toast('The service cannot be reached, so nothing was sent. What you typed is still here.');
    return;
  }
  sent.add(form);
  form.requestSubmit(submitter);
});

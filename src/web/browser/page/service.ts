import { ROOT } from './elements.ts';

/** Event of the window before its browser forgets everything: send now what needs the login. */
export const LOGGING_OUT = 'logging-out';

/** Whether the service answers now. */
export async function isReachable(): Promise<boolean> {
  try {
    return (await fetch(`${ROOT}/health`, { method: 'HEAD', cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}

import { ROOT } from './elements.ts';

/** Whether the service answers now. */
export async function isReachable(): Promise<boolean> {
  try {
    return (await fetch(`${ROOT}/health`, { method: 'HEAD', cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}

import { find, ROOT } from '../page/elements.ts';
import { timeText } from '../page/text.ts';
import { REACHED } from '../reading/live.ts';

// Registers the service worker, and says so if the page is one that it kept.

const { storedAt } = document.documentElement.dataset;
if (storedAt !== undefined) showAge(Number(storedAt));

// Only https and localhost have service workers.
const workers = navigator.serviceWorker as ServiceWorkerContainer | undefined;
if (workers !== undefined) {
  if (document.readyState === 'complete') register(workers);
  else addEventListener('load', () => register(workers));
  addEventListener('online', () => workers.controller?.postMessage({ sends: true }));
}

async function register(container: ServiceWorkerContainer): Promise<void> {
  try {
    await container.register(`${ROOT}/service-worker.js`);
  } catch {
    // Without it the page works as before.
    return;
  }
  const { active } = await container.ready;
  active?.postMessage({ sends: true, keep: isKnown() ? [] : shown() });
}

/** Whether this page came through the service worker, which has kept it then. It may control a page that was loaded before. */
function isKnown(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  return navigation !== undefined && navigation.workerStart > 0;
}

/** The addresses of this page and of what it shows. */
function shown(): string[] {
  const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
  // Those that were loaded late, because they came into view.
  const pictures = [...document.images].filter(({ naturalWidth }) => naturalWidth > 0).map(({ src }) => src);
  return [...new Set([location.href, ...loaded, ...pictures])];
}

function showAge(storedAt: number): void {
  const line = document.createElement('p');
  line.className = 'offline';
  line.role = 'status';
  const reason = navigator.onLine ? 'The service cannot be reached' : 'You are offline';
  line.textContent = `${reason}; this is as of ${timeText(storedAt)}. `;
  const again = document.createElement('a');
  again.href = location.href;
  again.textContent = 'Load it again';
  line.append(again);
  find(document, 'main').prepend(line);
  // The notes of the page are live from then on.
  addEventListener(REACHED, () => line.remove());
}

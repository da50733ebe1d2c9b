import { isMainThread } from 'node:worker_threads';

// The threads of the service run from the copy, so they need no hooks, which would cost each of them a tenth of its start.
if (isMainThread) await import('./copied-sources.mjs');

import { workerData } from 'node:worker_threads';
import { SearchWork } from '../src/storage/search/search-work.ts';
import { callMethod, post, serveCalls } from './serve-calls.ts';

serveCalls(() => {
  const work = new SearchWork((workerData as { readonly file: string }).file);
  return {
    // Each reply is sent at once, because the next call may take long.
    run: (calls) => {
      for (const call of calls) post({ replies: [callMethod(work, call)] });
    },
    close: () => work.close(),
  };
});

import { asRefusal } from '../src/storage/files/failures.ts';
import { type FileReads, readNow, statNow } from '../src/storage/files/read-file.ts';
import { callMethod, post, serveCalls } from './serve-calls.ts';

const READS: FileReads = { read: readNow, stat: statNow };

serveCalls(() => ({
  run(calls) {
    const replies = calls.map((call) => callMethod(READS, call, asRefusal));
    const buffers = replies.flatMap(
      ({ result }) => (result as ReturnType<typeof readNow>)?.bytes?.buffer ?? [],
    );
    post({ replies }, buffers);
  },
  close() {},
}));

/**
 * Posts notes of 1 KB straight to a storage, for some seconds: what is left of the service without HTTP. Its order comes
 * as JSON, its result goes out so.
 */
import { readConfig } from '../src/config.ts';
import { NoteIds } from '../src/feeds/ids.ts';
import type { FeedName } from '../src/feeds/names.ts';
import type { NewNote } from '../src/feeds/note.ts';
import { feedLimits } from '../src/ingest/feed-rules.ts';
import { openStorage } from '../src/storage/open-storage.ts';
import { createLog } from '../src/telemetry/log.ts';
import { writes } from '../test/support/storing.ts';

export interface StorageOrder {
  /** Settings of the service. */
  readonly settings: Record<string, string>;
  /** How many post at once, each one note after the other. */
  readonly writers: number;
  readonly seconds: number;
}

const { settings, writers, seconds } = JSON.parse(process.argv[2]!) as StorageOrder;
// As `src/main.cjs` has it.
process.env.UV_THREADPOOL_SIZE = '24';
const config = readConfig(settings);
const log = createLog({ level: 'error' });
const { storage } = await openStorage(config, log, { owner: undefined, commits: undefined });
const name = 'bench' as FeedName;
await writes(storage).create(name, { passwordHash: undefined });
const open = { kind: 'existing', passwordHash: undefined } as const;
const ids = new NoteIds();
const bytes = Buffer.alloc(1024, 'x');
const begun = performance.now();
const counts = await Promise.all(Array.from({ length: writers }, write));
const count = counts.reduce((sum, written) => sum + written);
const perSecond = (count / (performance.now() - begun)) * 1000;
await storage.close();
console.log(JSON.stringify({ perSecond }));

async function write(): Promise<number> {
  let written = 0;
  for (; performance.now() - begun < seconds * 1000; written += 1) {
    const note: NewNote = { id: ids.next(), type: 'md', meta: { tags: [] }, bytes };
    if (!(await writes(storage).post(name, [note], open, feedLimits(config))))
      throw new Error('a post was not stored');
  }
  return written;
}

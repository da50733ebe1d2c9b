/**
 * Runs the worlds of `files.soak.ts` on sources whose limits are made small, most of them one: batches, caches, notes in memory.
 * So a few seconds reach states that otherwise need hundreds of notes. The variables are those of `files.soak.ts`.
 */
import { registerHooks } from 'node:module';

const SMALL: Record<string, Record<string, number>> = {
  'src/storage/files/arrival-log': { MAX_LOGGED: 5, AT_ONCE: 1 },
  'src/storage/files/durable': { OPEN_FILES: 4, PARALLEL_SYNCS: 1, AT_ONCE: 1 },
  'src/storage/files/feed-index': { FEEDS_AT_ONCE: 1, MAX_NAMED: 1 },
  'src/storage/files/find-marks': { AT_ONCE: 1 },
  'src/storage/files/mark-keeper': { AT_ONCE: 1 },
  'src/storage/files/marks': { LINES_AT_ONCE: 1 },
  'src/storage/files/note-list': { PIECE_NOTES: 4 },
  'src/storage/files/note-reader': { CACHE_BYTES: 2_000, PARALLEL_READS: 1, FOUND_AT_ONCE: 1 },
  'src/storage/files/read-file': { PIECE_BYTES: 7 },
  'src/storage/files/read-metadata': { REMEMBERED: 1 },
  'src/storage/files/scan': { PARALLEL: 1 },
  'src/storage/files/writes': { SWEPT_FILES: 1 },
  'src/storage/batcher': { FLUSH_AT: 1, MAX_ITEMS: 1 },
  'src/writing/due': { SWEPT_NOTES: 1 },
  'workers/data-folder-watch': { TICK_BUDGET: 20, BATCH: 1 },
};
const SOURCE = /\/((?:src|workers)\/.+)\.[jt]s$/;

function withLimits(source: string, limits: Readonly<Record<string, number>>): string {
  let text = source;
  for (const [name, value] of Object.entries(limits)) {
    const limit = new RegExp(`^((?:export )?const ${name} = )[0-9_* ]+;`, 'm');
    if (!limit.test(text)) throw new Error(`There is no limit ${name} any more`);
    text = text.replace(limit, `$1${value};`);
  }
  return text;
}

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context);
    const limits = SMALL[SOURCE.exec(url)?.[1] ?? ''];
    return limits ? { ...loaded, source: withLimits(String(loaded.source), limits) } : loaded;
  },
});

await import('./files.soak.ts');

/**
 * The worlds of `files.soak.ts` with limits of one or two where there usually are hundreds, so that they meet within seconds what otherwise
 * comes after many notes. `WORLD_STEPS` and `WORLD_SEED` are as there.
 */
import { registerHooks } from 'node:module';

const SMALL: Record<string, Record<string, number>> = {
  'src/storage/files/arrival-log': { MOST_LOGGED: 5, AT_ONCE: 1 },
  'src/storage/files/durable': { OPEN_FILES: 4, PARALLEL_SYNCS: 1, AT_ONCE: 1 },
  'src/storage/files/feed-index': { FEEDS_AT_ONCE: 1, MOST_NAMED: 1 },
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

function withSmallLimits(source: string, path: string): string {
  let text = source;
  for (const [name, value] of Object.entries(SMALL[path] ?? {})) {
    const before = text;
    text = text.replace(new RegExp(`^((?:export )?const ${name} = )[0-9_* ]+;`, 'm'), `$1${value};`);
    if (text === before) throw new Error(`${path} has no ${name}`);
  }
  return text;
}

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context);
    const path = SOURCE.exec(url)?.[1];
    if (path === undefined || SMALL[path] === undefined) return loaded;
    return { ...loaded, source: withSmallLimits(String(loaded.source), path) };
  },
});

await import('./files.soak.ts');

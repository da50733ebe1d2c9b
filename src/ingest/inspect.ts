import inspect, { type Inspection } from '../../workers/inspect-picture.ts';
import type { PictureType } from '../feeds/note-types.ts';
import type { WorkerPool } from '../worker-pool.ts';

/**
 * Up to this size a picture is inspected on the event loop. There it costs the loop 0.5 µs per KB; the trip to the
 * pool costs 12 to 18 µs, or 8 to 14 µs with 8 tasks per thread, nearly whatever the size. So 16 KB is cheaper on the
 * loop (7 to 9 µs), 32 KB is not (16 µs). Measured by `bench/inspect-threshold.ts`, 2 cores, 1 to 32 at once.
 */
export const INLINE_MAX_BYTES = 24 * 1024;

/**
 * Checks the signature of a picture and hashes it, on the event loop or on a thread, whichever costs the loop less.
 * The bytes must not change before the promise settles. Fails with `busy` when too many tasks wait for the pool.
 */
export async function inspectPicture(
  pool: WorkerPool,
  type: PictureType,
  bytes: Uint8Array,
): Promise<Inspection> {
  if (bytes.length <= INLINE_MAX_BYTES) return inspect({ type, bytes });
  return (await pool.run('inspect-picture', { type, bytes })) as Inspection;
}

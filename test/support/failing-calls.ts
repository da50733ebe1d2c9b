import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** The calls by which storage changes files and folders in the thread that calls it. */
const NAMES = ['openSync', 'writeSync', 'renameSync', 'linkSync', 'unlinkSync', 'rmSync'] as const;
type Call = (...args: unknown[]) => unknown;
const calls = fs as unknown as Record<(typeof NAMES)[number], Call>;

/** A call that did what it should. */
export interface MadeCall {
  readonly name: (typeof NAMES)[number];
  readonly args: readonly unknown[];
  readonly result: unknown;
}

/**
 * Runs a work while calls that change the disk fail where `fails` says so, by their number from 1 on; a write that
 * fails has written half. Nothing else may change the disk in this thread meanwhile.
 * @param work is given the calls that succeeded so far
 * @returns how the work ended, and how many calls it tried
 */
export async function withFailingCalls<T>(
  fails: (n: number) => boolean,
  work: (made: readonly MadeCall[]) => Promise<T>,
): Promise<{ outcome: PromiseSettledResult<T>; tried: number }> {
  const real = Object.fromEntries(NAMES.map((name) => [name, calls[name]])) as typeof calls;
  const made: MadeCall[] = [];
  let tried = 0;
  for (const name of NAMES)
    calls[name] = (...args) => {
      tried += 1;
      if (fails(tried)) {
        if (name === 'writeSync') real.writeSync(args[0], halfOf(args[1] as Uint8Array));
        throw Object.assign(new Error('no space left'), { code: 'ENOSPC', syscall: name });
      }
      const result = real[name](...args);
      made.push({ name, args, result });
      return result;
    };
  syncBuiltinESMExports();
  try {
    const [outcome] = await Promise.allSettled([work(made)]);
    return { outcome: outcome!, tried };
  } finally {
    Object.assign(calls, real);
    syncBuiltinESMExports();
  }
}

function halfOf(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.length >> 1);
}

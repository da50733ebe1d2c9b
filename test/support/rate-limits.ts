import assert from 'node:assert/strict';
import { RateLimit } from '../../src/access/rate-limit.ts';
import { Refusal } from '../../src/refusals.ts';

type Options = ConstructorParameters<typeof RateLimit>[0];

/** A limit of changes. */
export function limitOf(options: Omit<Options, 'code' | 'what'>): RateLimit {
  return new RateLimit({ ...options, code: 'rate_limited', what: 'changes' });
}

/** The seconds to wait that a limit alone refuses with. */
export function waitNow(ask: () => void | Promise<void>): number | undefined {
  try {
    assert.equal(ask(), undefined, 'a limit alone answers at once');
    return undefined;
  } catch (error) {
    return waitIn(error);
  }
}

/** The seconds to wait that a shared limit refuses with. */
export async function waitOf(ask: () => void | Promise<void>): Promise<number | undefined> {
  try {
    await ask();
    return undefined;
  } catch (error) {
    return waitIn(error);
  }
}

function waitIn(error: unknown): number {
  assert(error instanceof Refusal && error.retryAfter !== undefined, String(error));
  return error.retryAfter;
}

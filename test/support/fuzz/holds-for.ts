import fc from 'fast-check';

/**
 * Checks values for so many seconds; throws at the first for which the check does. When the time is over, the check that
 * runs is waited for: fast-check goes on without it, and what it did later would fall into the next step of the test.
 */
export async function holdsFor<T>(
  seconds: number,
  values: fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
  options: { readonly seed: number; readonly endOnFailure?: boolean },
): Promise<void> {
  let last = Promise.resolve();
  const property = fc.asyncProperty(values, (value) => {
    last = check(value);
    return last;
  });
  await fc.assert(property, {
    ...options,
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: seconds * 1000,
    markInterruptAsFailure: false,
  });
  await last;
}

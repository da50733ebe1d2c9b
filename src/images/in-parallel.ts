/** Runs a task for each item, a bounded number at once. After the first failure no further task begins. */
export async function inParallel<T>(
  all: readonly T[],
  atOnce: number,
  work: (one: T) => Promise<void>,
): Promise<void> {
  const rest = all[Symbol.iterator]();
  const runners = Array.from({ length: Math.min(atOnce, all.length) }, async () => {
    for (const one of rest) await work(one);
  });
  const ended = await Promise.allSettled(runners);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
}

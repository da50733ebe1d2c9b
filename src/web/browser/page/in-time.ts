/** Waits for the work for `ms` at most, then rejects: there are browsers whose database never opens. */
export function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = new Promise<never>((_, reject) => setTimeout(() => reject(new Error('too late')), ms));
  return Promise.race([work, late]);
}

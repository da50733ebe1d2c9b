/**
 * What becomes of some work. Rejects if it takes longer than that: there are browsers whose database never opens.
 * @param ms how long the work may take
 */
export function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = new Promise<never>((_, reject) => setTimeout(() => reject(new Error('too late')), ms));
  return Promise.race([work, late]);
}

/**
 * Does the work at the first call only, and again if it failed. So a module is loaded later if its own file could not be opened. If a module
 * that it imports failed, it fails until the process ends, because Node keeps that failure.
 */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  const forget = () => {
    result = undefined;
  };
  return () => {
    if (result === undefined) {
      result = work();
      result.catch(forget);
    }
    return result;
  };
}

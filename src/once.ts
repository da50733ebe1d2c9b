/** Does the work at the first call only, and again if it failed: a module may not load while too many files are open. */
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

/**
 * Does the work at the first call only, and again if it failed. A module whose own file could not be opened is loaded then; the failure of one
 * that it imports stays, because Node keeps it.
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

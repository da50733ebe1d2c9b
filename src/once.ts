/**
 * Does the work once, and again after a failure. So a later call loads a module whose own file could not be opened, but not one whose import
 * failed, because Node keeps that failure until the process ends.
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

/** Lets calls that come while the work runs share its result, whatever their arguments. A later call runs the work again. */
export function joinCalls<A extends readonly unknown[], T>(
  work: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  let running: Promise<T> | undefined;
  return (...args) => {
    running ??= work(...args).finally(() => {
      running = undefined;
    });
    return running;
  };
}

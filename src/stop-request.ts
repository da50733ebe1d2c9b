const PARENT_CHECK_MS = 1000;
const ECHO_MS = 500;

/**
 * Settles when the process is asked to stop, with what asked: the first SIGTERM or SIGINT, or, under npm, the end
 * of the parent (npm that is killed leaves its child behind). A second signal ends the process at once with exit
 * code 1.
 *
 * Ctrl-C under npm arrives twice, from the terminal and handed on by npm: such an echo is no second signal.
 */
export function stopRequest(): Promise<string> {
  const underNpm = process.env.npm_lifecycle_event !== undefined;
  const { promise, resolve } = Promise.withResolvers<string>();
  let first: number | undefined;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      const now = performance.now();
      first ??= now;
      const again = now > first + (underNpm ? ECHO_MS : 0);
      if (again) process.exit(1);
      resolve(signal);
    });
  }
  if (underNpm) parentGone().then(() => resolve('the parent is gone'));
  return promise;
}

async function parentGone(): Promise<void> {
  const parent = process.ppid;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    resolve();
  }, PARENT_CHECK_MS).unref();
  return promise;
}

const PARENT_CHECK_MS = 1000;
const ECHO_MS = 500;

/**
 * Settles with the reason to stop: the first SIGTERM or SIGINT, or, under npm, the end of the parent, because a killed npm
 * leaves its child running. A second signal exits with code 1.
 *
 * Under npm, Ctrl-C arrives twice, from the terminal and from npm, so a signal soon after the first is ignored.
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

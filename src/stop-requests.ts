import { SupervisorLink } from './processes/supervisor-link.ts';

/** Interval of looking for the parent, ms. */
const PARENT_CHECK_MS = 1000;
/** Time in which a second signal may be the same Ctrl-C, ms. */
const ECHO_MS = 500;

/** Requests to end this process; each settles with the reason. */
interface StopRequests {
  /** To end when its clients have gone to other processes. */
  readonly drain: Promise<string>;
  readonly stop: Promise<string>;
}

/**
 * Listens for the first SIGTERM or SIGINT, or, under npm, the end of the parent, because a killed npm leaves its child
 * running. A second signal exits with code 1.
 *
 * Under npm, Ctrl-C arrives twice, from the terminal and from npm, so a signal soon after the first is ignored.
 */
export function stopRequests(): StopRequests {
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
  if (underNpm) {
    const parent = process.ppid;
    const look = () => process.ppid !== parent && resolve('the parent is gone');
    setInterval(look, PARENT_CHECK_MS).unref();
  }
  return { drain: new Promise(() => {}), stop: promise };
}

/**
 * Listens for what the supervisor says. A terminal and systemd send their signals to its processes as well, some of them
 * twice, so a signal counts once: SIGTERM ends this process, and the supervisor decides about the others.
 */
export function supervisedStopRequests(): StopRequests & { readonly link: SupervisorLink } {
  const drain = Promise.withResolvers<string>();
  const stop = Promise.withResolvers<string>();
  const link = new SupervisorLink((is, reason) => (is === 'drain' ? drain : stop).resolve(reason));
  process.on('SIGTERM', () => stop.resolve('SIGTERM'));
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  return { drain: drain.promise, stop: stop.promise, link };
}

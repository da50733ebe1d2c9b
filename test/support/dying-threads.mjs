/**
 * To be imported by a service whose threads are to die: a file in DYING_DIR, named like a file of `workers/`, has the next
 * thread that does this work die. Its text says when, `before` or `after` the work, or while it is `idle`; and how, by an
 * `exit`, by a `throw` that nobody catches, or for want of `memory`. The thread removes the file first.
 */
import { existsSync, readFileSync, unlinkSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { basename, join } from 'node:path';
import { isMainThread, parentPort } from 'node:worker_threads';

/** Work that threads of a pool load when they get a task. */
const TASKS =
  /\/workers\/(compose|compress|find-matches|hash-password|inspect-picture|parse-message|read-hook|render-texts|rewrite-references|verify-password)\.[jt]s$/;
const POLL_MS = 5;

function die(how) {
  if (how === 'exit') process.exit(1);
  if (how === 'throw') throw new Error('it was told to die');
  // Small pieces: one that does not fit at all would end the process.
  for (const all = []; ; ) all.push(new Array(10_000).fill(all.length + 0.5));
}

function dieIfTold(work, moment) {
  const path = join(process.env.DYING_DIR, work);
  if (!existsSync(path)) return;
  const [when, how] = readFileSync(path, 'utf8').split(' ');
  if (when !== moment) return;
  try {
    unlinkSync(path);
  } catch {
    // Another thread was told.
    return;
  }
  die(how);
}

/** Around the work of a task, where an error would be its result and not the end of its thread. */
globalThis.dieAroundTask = async (work, run) => {
  const orThrow = (moment) => {
    try {
      dieIfTold(work, moment);
      return undefined;
    } catch (error) {
      process.nextTick(() => {
        throw error;
      });
      return new Promise(() => {});
    }
  };
  await orThrow('before');
  const result = await run();
  await orThrow('after');
  return result;
};

function wrapTasks() {
  registerHooks({
    load: (url, context, next) => {
      const [, work] = TASKS.exec(url) ?? [];
      if (work === undefined) return next(url, context);
      const whole = JSON.stringify(`${url}?whole`);
      const source = `import run from ${whole};
export * from ${whole};
export default (...args) => dieAroundTask('${work}', () => run(...args));`;
      return { format: 'module', source, shortCircuit: true };
    },
  });
}

/** Of a thread that does the same work all its life. */
function wrapMessages(work) {
  const { on, postMessage } = parentPort;
  parentPort.on = (event, listener) =>
    on.call(parentPort, event, (message) => {
      if (event === 'message' && message !== 'close') dieIfTold(work, 'before');
      listener(message);
    });
  parentPort.postMessage = (message, ...others) => {
    if (!message?.started) dieIfTold(work, 'after');
    postMessage.call(parentPort, message, ...others);
  };
  setInterval(() => dieIfTold(work, 'idle'), POLL_MS).unref();
}

if (!isMainThread) {
  const work = basename(process.argv[1]).replace(/\.[jt]s$/, '');
  if (work === 'worker') wrapTasks();
  else wrapMessages(work);
}

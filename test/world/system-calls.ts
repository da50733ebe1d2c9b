/**
 * Sends calls of the system to a simulated computer while there is one: those of files below its root, of the clock, of timers
 * and of chance. To be imported before whatever makes such calls, because some modules keep the functions that they find.
 */
import crypto from 'node:crypto';
import fs from 'node:fs';
import inspector from 'node:inspector/promises';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Computer } from './computer.ts';

export const ROOT = '/simulated';

let computer: Computer | undefined;

/** From now on calls go to that computer; to the real one if undefined. */
export function runOn(other: Computer | undefined): void {
  computer = other;
}

const turn = setImmediate;

/** Settles when no promise is left to be settled without an event. */
export const drained = (): Promise<void> => new Promise((resolve) => turn(resolve));

// biome-ignore lint/suspicious/noExplicitAny: the parameters of any function
type Call = (...args: any[]) => unknown;
type Calls = Readonly<Record<string, (on: Computer, ...args: never[]) => unknown>>;
type Done = (error: Error | null, ...results: unknown[]) => void;

const isOurs = (subject: unknown): boolean =>
  typeof subject === 'number' ? subject >= 1_000_000 : `${subject}`.startsWith(ROOT);

const isNew = (flags: number) => (flags & fs.constants.O_CREAT ? 'create' : 'open');

const removeFile = (on: Computer, path: string): void => {
  try {
    on.disk.unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
};

const AT_ONCE: Calls = {
  openSync: (on, path: string, flags: number) => on.call(isNew(flags), path, () => on.disk.open(path, flags)),
  closeSync: (on, fd: number) => on.call('close', fd, () => on.disk.close(fd)),
  writeSync: (on, fd: number, bytes: Uint8Array, offset = 0) => on.write(fd, bytes.subarray(offset)),
  fstatSync: (on, fd: number) => on.call('fstat', fd, () => on.disk.statOpen(fd)),
  lstatSync: (on, path: string, options?: { throwIfNoEntry?: boolean }) =>
    on.call('lstat', path, () => {
      try {
        return on.disk.stat(path);
      } catch (error) {
        if (options?.throwIfNoEntry === false) return undefined;
        throw error;
      }
    }),
  renameSync: (on, from: string, to: string) =>
    on.call('rename', `${from} ${to}`, () => on.disk.rename(from, to)),
  linkSync: (on, from: string, to: string) => on.call('link', `${from} ${to}`, () => on.disk.link(from, to)),
  unlinkSync: (on, path: string) => on.call('unlink', path, () => on.disk.unlink(path)),
  rmSync: (on, path: string) => on.call('unlink', path, () => removeFile(on, path)),
  mkdirSync: (on, path: string) => on.call('mkdir', path, () => on.disk.makeFolder(path)),
  rmdirSync: (on, path: string) => on.call('rmdir', path, () => on.disk.removeFolder(path)),
  readdirSync: (on, path: string) => on.call('scandir', path, () => on.disk.list(path)),
  futimesSync: (on, fd: number, _atime: unknown, mtime: number | Date) =>
    on.call('futime', fd, () => on.disk.setTimes(fd, msOf(mtime))),
};

const WITH_CALLBACK: Calls = {
  open: (on, path: string, flags: number, done: Done) =>
    on.later(isNew(flags), path, () => on.disk.open(path, flags), done),
  lstat: (on, path: string, done: Done) => on.later('lstat', path, () => on.disk.stat(path), done),
  read: (on, fd: number, into: Uint8Array, _offset: number, _length: number, position: number, done: Done) =>
    on.later('read', fd, () => on.disk.read(fd, into, position), done),
  fsync: (on, fd: number, done: Done) => on.sync('fsync', fd, done),
  fdatasync: (on, fd: number, done: Done) => on.sync('fdatasync', fd, done),
};

/** Makes a call that a real computer makes on its thread pool: it ends later. */
function pooled<T>(on: Computer, name: string, subject: string, work: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    on.later(name, subject, work, (error, result) => (error ? reject(error) : resolve(result!)));
  });
}

const WITH_PROMISE: Calls = {
  readdir: (on, path: string, options?: { withFileTypes?: boolean }) =>
    pooled(on, 'scandir', path, () => {
      const entries = on.disk.list(path);
      return options?.withFileTypes ? entries : entries.map(({ name }) => name);
    }),
  rename: (on, from: string, to: string) =>
    pooled(on, 'rename', `${from} ${to}`, () => on.disk.rename(from, to)),
  unlink: (on, path: string) => pooled(on, 'unlink', path, () => on.disk.unlink(path)),
  lstat: (on, path: string) => pooled(on, 'lstat', path, () => on.disk.stat(path)),
  access: (on, path: string) => pooled(on, 'lstat', path, () => void on.disk.stat(path)),
  rmdir: (on, path: string) => pooled(on, 'rmdir', path, () => on.disk.removeFolder(path)),
  utimes: (on, path: string, _atime: unknown, mtime: number | Date) =>
    pooled(on, 'utime', path, () => on.disk.setTimesOf(path, msOf(mtime))),
};

/** Node takes numbers for seconds. */
function msOf(time: number | Date): number {
  return typeof time === 'number' ? Math.floor(time * 1000) : time.getTime();
}

function replace(target: object, calls: Calls): void {
  const functions = target as Record<string, Call>;
  for (const [name, call] of Object.entries(calls)) {
    const real = functions[name]!;
    const either: Call = (...args) =>
      computer && isOurs(args[0]) ? (call as Call)(computer, ...args) : real(...args);
    functions[name] = Object.assign(either, real);
  }
}

replace(fs, AT_ONCE);
const read = promisify(fs.read) as unknown as Call;
replace(fs, WITH_CALLBACK);
replace(fs.promises, WITH_PROMISE);
// `promisify` makes an object of the results of this one.
Object.assign(fs.read, {
  [promisify.custom]: (fd: number, into: Uint8Array, ...more: unknown[]) =>
    isOurs(fd)
      ? new Promise((resolve, reject) => {
          (fs.read as Call)(fd, into, ...more, (error: Error | null, bytesRead: number) =>
            error ? reject(error) : resolve({ bytesRead, buffer: into }),
          );
        })
      : read(fd, into, ...more),
});

type Timer = { cancel(): void; unref(): Timer };

function timer(on: Computer, ms: number, run: () => void): Timer {
  const cancel = on.time.after(ms, run);
  const made: Timer = { cancel, unref: () => made };
  return made;
}

const real = {
  setTimeout,
  clearTimeout,
  setImmediate,
  now: Date.now,
  performanceNow: performance.now.bind(performance),
};
Object.assign(globalThis, {
  setTimeout: Object.assign(
    (run: () => void, ms = 0, ...args: []) =>
      computer ? timer(computer, Math.max(1, ms), run) : real.setTimeout(run, ms, ...args),
    real.setTimeout,
  ),
  clearTimeout: (timer: Timer | undefined) =>
    timer && 'cancel' in timer ? timer.cancel() : real.clearTimeout(timer as never),
  setImmediate: Object.assign(
    (run: () => void, ...args: []) => (computer ? timer(computer, 0, run) : real.setImmediate(run, ...args)),
    real.setImmediate,
  ),
});
Date.now = () => (computer ? Math.floor(computer.time.now) : real.now());
performance.now = () => computer?.time.now ?? real.performanceNow();

const { setTimeout: delay, setImmediate: nextTurn } = timers;
Object.assign(timers, {
  setTimeout: (ms = 1) =>
    computer ? new Promise<void>((resolve) => void timer(computer!, Math.max(1, ms), resolve)) : delay(ms),
  setImmediate: () =>
    computer ? new Promise<void>((resolve) => void timer(computer!, 0, resolve)) : nextTurn(),
});

const { randomUUID, randomBytes } = crypto;
Object.assign(crypto, {
  randomUUID: () => (computer ? uuidOf(computer.random.bytes(16)) : randomUUID()),
  randomBytes: (...args: Parameters<typeof randomBytes>) =>
    computer?.random.bytes(args[0]) ?? randomBytes(...args),
});

// A collection at each start would take most of the time.
const { post } = inspector.Session.prototype;
inspector.Session.prototype.post = async function (this: inspector.Session, ...args: never[]) {
  return computer ? undefined : (post as Call).apply(this, args);
} as typeof post;

/** Nobody else uses the folder of a simulated computer. */
const locks = createRequire(import.meta.url)('fs-native-extensions') as { tryLock: Call };
const { tryLock } = locks;
locks.tryLock = (...args) => (isOurs(args[0]) ? true : tryLock(...args));

syncBuiltinESMExports();

/** A UUID of version 4. */
function uuidOf(bytes: Buffer): `${string}-${string}-${string}-${string}-${string}` {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

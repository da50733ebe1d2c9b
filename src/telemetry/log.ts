import { constants, fstatSync, openSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import sonicBoom from 'sonic-boom';
import type { FeedName } from '../feeds/names.ts';
import { errorFields, type FeedHash, feedHash } from './fields.ts';

/** Most verbose first. `silent` writes no line. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Lines are gathered for this time, or up to this many characters, because each write takes a trip to the thread pool. */
const BATCH_MS = 10;
const BATCH_CHARACTERS = 64 * 1024;
/** Retry interval with a full pipe, and with a full disk or without a reader, ms. */
const FULL_MS = 20;
const BROKEN_MS = 1000;
/** The most bytes held, including those being written; lines beyond it are dropped. */
const MAX_HELD_BYTES = 1024 * 1024;
const MAX_CLOSE_MS = 1000;

interface Fields extends Record<string, unknown> {
  /** Written as its `FeedHash`, never as it is. */
  readonly feed?: FeedName | undefined;
}

type Write = (message: string, fields?: Fields) => void;

/**
 * The service's log: one JSON object per line with `level`, `time` (ISO 8601, UTC), `msg` and the given fields. The field
 * `err` takes a thrown value, written with its causes; `feed` takes a feed's name, written as a keyed hash. No line may hold
 * a feed name, a password or a token, nor a client's address but for the audit lines of the operator (contract §16).
 */
export interface Log extends Readonly<Record<Exclude<LogLevel, 'silent'>, Write>> {
  /** Call it once the server secret is known; before, lines are written without the field `feed`. */
  hashFeedsWith(secret: Uint8Array): void;
  /** Writes whole lines of the log of another process as they are. */
  passOn(lines: string): void;
  /** Lines dropped since the start because nothing read them. */
  readonly linesLost: () => number;
  /** Writes what is still held; gives up after 1 s if nothing reads it. */
  close(): Promise<void>;
}

/** Where log lines go. */
interface LineDestination {
  /** Takes lines with their line breaks. Never throws or waits. */
  write(line: string): void;
  /** Lines dropped since the start. */
  readonly lost: number;
  close(): Promise<void>;
}

interface LogOptions {
  /** Lines below this level are not written. */
  readonly level: LogLevel;
  /** Default: standard output. */
  readonly destination?: LineDestination;
  /** Members of each line. */
  readonly members?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Opens the log. A stalled reader of standard output never stalls the service: at most 1 MiB of lines is held, further ones
 * are dropped, and once the reader has caught up one line says how many were lost.
 */
export function createLog({ level, destination, members }: LogOptions): Log {
  const onLost = (lost: number) =>
    logger.error({ lost }, 'log lines were lost because standard output was not read');
  const lines = destination ?? lineWriter(unblockedStdout(), onLost);
  let hash: FeedHash | undefined;
  const logger = pino(
    {
      level,
      base: members ?? null,
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: {
        err: (thrown: unknown) => errorFields(thrown),
        feed: (name: string) => hash?.(name),
      },
    },
    lines,
  );
  return {
    debug: (message, fields) => logger.debug(fields ?? {}, message),
    info: (message, fields) => logger.info(fields ?? {}, message),
    warn: (message, fields) => logger.warn(fields ?? {}, message),
    error: (message, fields) => logger.error(fields ?? {}, message),
    hashFeedsWith: (secret) => {
      hash = feedHash(secret);
    },
    passOn: (text) => lines.write(text),
    linesLost: () => lines.lost,
    close: () => lines.close(),
  };
}

/**
 * Writes lines to a non-blocking file descriptor without waiting for its reader. (A blocked write would hold a thread of the
 * pool, and with it the exit of the process.) What fails is tried again from the byte where it stopped.
 * @param onLost called with the number of dropped lines once all others are written; may write lines
 */
function lineWriter(fd: number, onLost: (lines: number) => void): LineDestination {
  // Its own retry of a full pipe, every 100 ms, is too slow to write all that is held before the exit.
  const options = { fd, sync: false, maxLength: MAX_HELD_BYTES, retryEAGAIN: () => false };
  const stream = new sonicBoom.SonicBoom(options);
  let batch = '';
  let timer: NodeJS.Timeout | undefined;
  let isRetrying = false;
  let [lost, unreported] = [0, 0];
  const handOver = () => {
    clearTimeout(timer);
    timer = undefined;
    stream.write(batch);
    batch = '';
  };
  const writeAll = async () => {
    do {
      const drained = new Promise((resolve) => stream.once('drain', resolve));
      handOver();
      await drained;
    } while (batch !== '');
  };
  stream.on('drop', (lines: string) => {
    const count = lines.split('\n').length - 1;
    lost += count;
    unreported += count;
  });
  stream.on('drain', () => {
    if (unreported > 0) onLost(unreported);
    unreported = 0;
  });
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (isRetrying) return;
    isRetrying = true;
    const again = () => {
      isRetrying = false;
      stream.write('');
    };
    setTimeout(again, code === 'EAGAIN' ? FULL_MS : BROKEN_MS);
  });
  return {
    write(line) {
      batch += line;
      if (batch.length >= BATCH_CHARACTERS) handOver();
      else timer ??= setTimeout(handOver, BATCH_MS);
    },
    get lost() {
      return lost;
    },
    close: () => Promise.race([writeAll(), wait(MAX_CLOSE_MS, undefined, { ref: false })]),
  };
}

/**
 * A non-blocking descriptor of standard output. A pipe or terminal is opened again, because programs that share it (a shell,
 * a parent) must keep its flags. If that fails (a socket, a pipe of another user), `process.stdout` makes it non-blocking. A
 * file has no reader and is used as it is.
 */
function unblockedStdout(): number {
  if (fstatSync(1).isFile()) return 1;
  try {
    return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return process.stdout.fd;
  }
}

let second = Number.NaN;
/** The text of that second, up to its point. */
let prefix = '';

/** A time (ms) as `Date.toISOString`, which takes ten times as long, a tenth of the CPU time of a cache hit. */
export function isoTime(now: number): string {
  const current = Math.floor(now / 1000);
  if (current !== second) {
    second = current;
    prefix = new Date(current * 1000).toISOString().slice(0, -'000Z'.length);
  }
  return `${prefix}${String(now - current * 1000).padStart(3, '0')}Z`;
}

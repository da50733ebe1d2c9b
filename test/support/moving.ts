import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileTime } from '../../src/storage/files/durable.ts';
import { untilDated } from './eventually.ts';
import { ask } from './service.ts';

const MAIN = new URL('../../src/main.cjs', import.meta.url).pathname;

/** How a run of `move` ended, and all it said. */
export interface MoveResult {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run of `move` in a process of its own. */
export interface RunningMove {
  readonly process: ChildProcess;
  readonly result: Promise<MoveResult>;
}

export function startMove(
  from: string,
  to: string,
  env: Record<string, string> = {},
  flags: readonly string[] = [],
): RunningMove {
  const { PATH = '' } = process.env;
  const args = ['-u', 'NODE_OPTIONS', process.execPath, MAIN, 'move', '--from', from, '--to', to, ...flags];
  const child = spawn('env', args, { env: { PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  const result = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }));
  return { process: child, result };
}

export function runMove(...args: Parameters<typeof startMove>): Promise<MoveResult> {
  return startMove(...args).result;
}

/** A file as it is placed by hand: its name in the data folder, its bytes and its date, ms since the epoch. */
export type PlacedFile = readonly [name: string, bytes: string | Uint8Array, modifiedAt: number];

export function placeFiles(dir: string, files: readonly PlacedFile[]): void {
  for (const [name, bytes, modifiedAt] of files) {
    mkdirSync(join(dir, name, '..'), { recursive: true });
    writeFileSync(join(dir, name), bytes);
    utimesSync(join(dir, name), 0, fileTime(modifiedAt));
  }
}

/** Every feed's folder and file in a data folder, with bytes and dates in ms where the service goes by them. */
export function filesIn(dir: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const feed of readdirSync(dir).filter((name) => !name.startsWith('.')))
    for (const name of ['.', ...readdirSync(join(dir, feed))]) {
      const path = join(dir, feed, name);
      const { mtimeMs } = lstatSync(path);
      const bytes = name === '.' ? '' : readFileSync(path).toString('base64');
      found[`${feed}/${name}`] =
        name.startsWith('.') && name !== '.' ? bytes : `${Math.floor(mtimeMs)} ${bytes}`;
    }
  return found;
}

/** The lines of `.deleted-read-ids`, in order. */
export function retiredIn(dir: string): string[] {
  const file = join(dir, '.deleted-read-ids');
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').sort() : [];
}

/** A path, and how it is asked for. */
export type Question = readonly [path: string, init?: RequestInit];

/** What a service answers, with the fields by which readers know it next time. */
export async function answersTo(
  url: string,
  questions: readonly Question[],
): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  await untilDated();
  for (const [path, init] of questions) {
    const { status, headers, bytes } = await ask(url + path, init);
    const fields = ['etag', 'last-modified', 'content-type'].map((name) => headers.get(name));
    answers[path] = [status, ...fields, bytes.toString()];
  }
  return answers;
}

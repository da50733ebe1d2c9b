import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/service.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { storageSettings } from './storage-settings.ts';

/** A line that the service logged. */
export interface LogLine {
  level: string;
  message: string;
  fields: Record<string, unknown>;
}

export interface TestService {
  /** Its address, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  readonly lines: LogLine[];
  stop(): Promise<void>;
  /** Stops it and starts another on the same data. */
  restart(): Promise<TestService>;
}

interface Scope {
  teardown(fn: () => unknown): void;
}

/** A folder that is removed when the test ends. */
export async function tempDir(t: Scope): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'note-feed-'));
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

/**
 * The real service on a free port, with settings as in its environment; stopped when the test ends. Clients write as
 * much as they like unless SERVICE_RATE_LIMIT is given.
 */
export async function start(
  t: Scope,
  env: Record<string, string> = {},
  dataDir?: string,
): Promise<TestService> {
  const dir = dataDir ?? (await tempDir(t));
  const lines: LogLine[] = [];
  const write = (line: string) => {
    const { level, time: _, msg, ...fields } = JSON.parse(line);
    lines.push({ level, message: msg, fields });
  };
  const log = createLog({ level: 'debug', destination: { write, lost: 0, close: async () => {} } });
  const address = { HOST: '127.0.0.1', PORT: '0', DATA_DIR: dir, ...(await storageSettings(dir)) };
  const config = readConfig({ ...address, SERVICE_WORKERS: '2', SERVICE_RATE_LIMIT: '0', ...env });
  const service = await startService(config, log, undefined);
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= service.stop();
    return stopped;
  };
  t.teardown(stop);
  return {
    url: service.url,
    port: Number(new URL(service.url).port),
    dir,
    lines,
    stop,
    restart: async () => {
      await stop();
      return start(t, env, dir);
    },
  };
}

/** What a request was answered. */
export interface Reply {
  status: number;
  headers: Headers;
  bytes: Buffer;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read any member of an answer
  json: any;
}

export async function ask(url: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString();
  const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}

/** Posts a note; markdown unless another type is given. */
export function post(
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Reply> {
  return ask(url, { method: 'POST', body, headers: { 'content-type': 'text/markdown', ...headers } });
}

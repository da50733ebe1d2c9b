import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isTempName } from '../../src/storage/files/names.ts';
import { eventually, settled } from './eventually.ts';
import { ask } from './service.ts';

/** A request that must be refused, and how. */
export interface Refused {
  /** What is wrong with it. */
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly status: number;
  readonly code: string;
  /** What the sentence must hold. */
  readonly word?: string;
}

/** A read whose answer must stay the same. */
export interface View {
  readonly path: string;
  readonly headers?: Record<string, string>;
}

export interface RefusalCheck {
  readonly service: { readonly url: string; readonly dir: string };
  /** Reads that must answer after each refusal what they did before. */
  readonly views: readonly View[];
  /** Names and passwords that no sentence may hold. */
  readonly secrets: readonly string[];
}

interface Asserting {
  equal(found: unknown, wanted: unknown, message: string): unknown;
  ok(value: unknown, message: string): unknown;
  same(found: unknown, wanted: unknown, message: string): unknown;
}

/**
 * Every file below a folder with a hash of its bytes, and every folder. Not the memory that connections to a database
 * share: who reads is noted there. Nor the index of the search, which is made of the rest in the background.
 */
export function contents(dir: string): Record<string, string> {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort();
  const kept = paths.filter((path) => !path.endsWith('.db-shm') && !path.includes('.search.db'));
  return Object.fromEntries(kept.map((path) => [path, contentOf(join(dir, path))]));
}

/** Sends each request and checks that it is refused as it says and that nothing has changed. */
export async function refusesAll(t: Asserting, check: RefusalCheck, rows: readonly Refused[]): Promise<void> {
  const { service, views, secrets } = check;
  // A feed deleted before is removed beside what follows.
  t.ok(await eventually(() => !readdirSync(service.dir).some(isTempName)), 'nothing is being removed');
  const stored = contents(service.dir);
  const shown = await settled(() => answers(service.url, views));
  for (const { what, method, path, headers = {}, body, status, code, word = '' } of rows) {
    const name = `${method} with ${what}`;
    const reply = await ask(service.url + path, { method, headers, body: body ?? null });
    const { error = '' } = reply.json ?? {};
    t.equal(`${reply.status} ${reply.json?.code}`, `${status} ${code}`, `${name}: ${error}`);
    t.same(Object.keys(reply.json ?? {}).sort(), ['code', 'error'], `${name}: nothing but code and error`);
    t.ok(error.includes(word), `${name} says ${word}: ${error}`);
    t.ok(!secrets.some((secret) => error.includes(secret)), `${name} tells no secret: ${error}`);
    t.same(contents(service.dir), stored, `${name} changes no file`);
    t.same(await answers(service.url, views), shown, `${name} changes no answer`);
  }
}

async function answers(url: string, views: readonly View[]): Promise<string[]> {
  const replies = await Promise.all(views.map(({ path, headers = {} }) => ask(url + path, { headers })));
  return replies.map(({ status, headers, text }) => `${status} ${headers.get('etag')} ${text}`);
}

function contentOf(path: string): string {
  if (statSync(path).isDirectory()) return 'folder';
  return createHash('sha256').update(readFileSync(path)).digest('base64url');
}

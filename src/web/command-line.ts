import { readFileSync } from 'node:fs';
import { type Answer, NOSNIFF } from '../http/answer.ts';
import { headers } from '../http/headers.ts';

const SOURCE = readFileSync(new URL('nf.sh', import.meta.url), 'utf8');

const FIELDS = headers({
  'Content-Type': 'text/x-shellscript; charset=utf-8',
  // Another client may know the instance by another address.
  'Cache-Control': 'no-store',
  ...NOSNIFF,
});

/**
 * The command-line client, a shell script.
 * @param base absolute base of links, without a trailing slash: the instance that the script talks to
 * @param version of the service
 */
export function commandLineClient(base: string, version: string): Answer {
  const quoted = base.replaceAll("'", "'\\''");
  const script = SOURCE.replace('@VERSION@', version).replace('@BASE@', () => quoted);
  return { status: 200, headers: FIELDS, body: Buffer.from(script) };
}

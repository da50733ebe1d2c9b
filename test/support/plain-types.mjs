/**
 * Takes the types out of each source once, and keeps what is left in `build/plain/`, named after the hash of the source.
 * Node by itself does so in each process and thread anew, which is half of what it takes to start a service in a test.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { threadId } from 'node:worker_threads';

const COPIES = new URL('../../build/plain/', import.meta.url);

function plain(typed) {
  const copy = new URL(`${createHash('sha1').update(typed).digest('hex')}.js`, COPIES);
  try {
    return readFileSync(copy, 'utf8');
  } catch {
    const stripped = stripTypeScriptTypes(typed);
    try {
      mkdirSync(COPIES, { recursive: true });
      const unfinished = new URL(`${copy}.${process.pid}.${threadId}`);
      writeFileSync(unfinished, stripped);
      renameSync(unfinished, copy);
    } catch {
      // A test that gave up its rights may not write here.
    }
    return stripped;
  }
}

registerHooks({
  load: (url, context, next) =>
    url.startsWith('file:') && url.endsWith('.ts')
      ? { format: 'module', source: plain(readFileSync(new URL(url), 'utf8')), shortCircuit: true }
      : next(url, context),
});

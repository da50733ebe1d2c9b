/**
 * Gives tests the sources as the service runs them: from the copy without types in `build/` (`src/plain-sources.cjs`). The
 * tests' own types are taken out once, and what is left is kept in `build/plain/`, named after the hash of the source. Node by
 * itself takes them out in each process and thread anew, which is two thirds of what it takes to start a thread.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, registerHooks, stripTypeScriptTypes } from 'node:module';

const ROOT = new URL('../../', import.meta.url).href;
const COPIES = new URL('build/plain/', ROOT);

/** Looked up at the first import of a source, because many tests have none. */
let isCopied;

/** The copy of a source, or the module itself. */
function copyOf(url) {
  if (!url.startsWith(ROOT)) return url;
  const source = url.slice(ROOT.length);
  if (!/^(src|workers)\/.*\.ts$/.test(source)) return url;
  isCopied ??= createRequire(ROOT)('./src/plain-sources.cjs').makeOnce();
  return isCopied ? `${ROOT}build/${source.replace(/ts$/, 'js')}` : url;
}

function withoutTypes(typed) {
  const copy = new URL(`${createHash('sha1').update(typed).digest('hex')}.js`, COPIES);
  try {
    return readFileSync(copy, 'utf8');
  } catch {
    const stripped = stripTypeScriptTypes(typed);
    try {
      mkdirSync(COPIES, { recursive: true });
      const unfinished = new URL(`${copy}.${process.pid}`);
      writeFileSync(unfinished, stripped);
      renameSync(unfinished, copy);
    } catch {
      // A test that gave up its rights may not write here.
    }
    return stripped;
  }
}

registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    return { ...found, url: copyOf(found.url) };
  },
  load: (url, context, next) =>
    url.startsWith('file:') && url.endsWith('.ts')
      ? { format: 'module', source: withoutTypes(readFileSync(new URL(url), 'utf8')), shortCircuit: true }
      : next(url, context),
});

/**
 * Becomes the test file as `node` runs it, with its types taken out once for all. The test runner gives its processes
 * loaders, for mocks and for coverage, and every thread of a service would load them once more: three quarters of the
 * CPU time of all tests. A test lives for seconds, so a heap that is large from the beginning saves a tenth of that time:
 * most of what it holds is never collected.
 */
const { NODE_OPTIONS: _, ...env } = process.env;
const plainTypes = `--import=${new URL('plain-types.mjs', import.meta.url)}`;
const heap = ['--min-semi-space-size=8', '--initial-old-space-size=256'];
process.execve(process.execPath, [process.execPath, ...heap, plainTypes, ...process.argv.slice(1)], env);

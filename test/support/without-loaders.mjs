/**
 * Becomes the test file as `node` runs it, with its types taken out once for all. The test runner gives its processes
 * loaders, for mocks and for coverage, and every thread of a service would load them once more: three quarters of the
 * CPU time of all tests.
 */
const { NODE_OPTIONS: _, ...env } = process.env;
const plainTypes = `--import=${new URL('plain-types.mjs', import.meta.url)}`;
process.execve(process.execPath, [process.execPath, plainTypes, ...process.argv.slice(1)], env);

/**
 * Becomes the test file as `node` alone runs it. The test runner gives its processes loaders, for mocks and for coverage,
 * and every thread of a service would load them once more: three quarters of the CPU time of all tests.
 */
const { NODE_OPTIONS: _, ...env } = process.env;
process.execve(process.execPath, [process.execPath, ...process.argv.slice(1)], env);

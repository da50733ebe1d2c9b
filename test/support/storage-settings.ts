/**
 * The settings that have a service of a test keep its notes where SERVICE_STORAGE says, so that one test can be run
 * on every backend: `SERVICE_STORAGE=sqlite node test/routes/caps.test.ts`.
 */
export function storageSettings(): Record<string, string> {
  const { SERVICE_STORAGE = 'fs' } = process.env;
  return SERVICE_STORAGE === 'fs'
    ? {}
    : { SERVICE_STORAGE, SERVICE_SECRET: 'a secret of tests that is long enough' };
}

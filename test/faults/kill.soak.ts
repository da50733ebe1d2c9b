/** Many kills of the service under load; see `kill.test.ts`. */
process.env.SOAK = '1';

await import('./kill.test.ts');

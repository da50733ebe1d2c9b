/** Many kills while posting; see `postgres-kill.test.ts`. */
process.env.SOAK = '1';

await import('./postgres-kill.test.ts');

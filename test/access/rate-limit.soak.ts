/** A million clients; see `rate-limit.test.ts`. */
process.env.SOAK = '1';

await import('./rate-limit.test.ts');

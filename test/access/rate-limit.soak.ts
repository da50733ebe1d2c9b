/** A million clients; see `rate-limit.test.ts`. */
await import('./rate-limit.test.ts');

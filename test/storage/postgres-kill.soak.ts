/** Many kills while posting; see `postgres-kill.test.ts`. */
await import('./postgres-kill.test.ts');

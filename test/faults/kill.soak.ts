/** Many kills of the service under load; see `kill.test.ts`. */
await import('./kill.test.ts');

/** Moves into every backend that are killed, or lose their lock or server; see `stopped.test.ts`. */
await import('./stopped.test.ts');
